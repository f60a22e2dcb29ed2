package apiregistration_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	"github.com/gatehouse-dev/gatehouse/fakeapi/internal/resource/apiregistration"
)

// metrics is a valid APIService.
func metrics() *apiregistration.APIService {
	return &apiregistration.APIService{
		ObjectMeta: metav1.ObjectMeta{Name: "v1beta1.metrics.k8s.io", Labels: map[string]string{"a": "b"}},
		Spec: apiregistration.APIServiceSpec{
			Group: "metrics.k8s.io", Version: "v1beta1", GroupPriorityMinimum: 100, VersionPriority: 100,
			Service:  &apiregistration.ServiceReference{Namespace: "kube-system", Name: "metrics-server", Port: ptr.To[int32](443)},
			CABundle: []byte("bundle"),
		},
		Status: apiregistration.APIServiceStatus{Conditions: []apiregistration.APIServiceCondition{{Type: apiregistration.Available, Status: "True"}}},
	}
}

func TestValidate(t *testing.T) {
	for name, test := range map[string]struct {
		change func(*apiregistration.APIService)
		want   string // the one error; none when empty
	}{
		"valid": {func(*apiregistration.APIService) {}, ""},
		"another name": {func(s *apiregistration.APIService) { s.Name = "metrics" },
			"metadata.name: Invalid value: \"metrics\": must be `spec.version+\".\"+spec.group`: \"v1beta1.metrics.k8s.io\""},
		"no group": {func(s *apiregistration.APIService) { s.Name, s.Spec.Group = "v1beta1.", "" },
			"spec.group: Required value: only v1 may have an empty group and it better be legacy kube"},
		"group priority": {func(s *apiregistration.APIService) { s.Spec.GroupPriorityMinimum = 20001 },
			"spec.groupPriorityMinimum: Invalid value: 20001: must be positive and less than 20000"},
		"version priority": {func(s *apiregistration.APIService) { s.Spec.VersionPriority = 0 },
			"spec.versionPriority: Invalid value: 0: must be positive and less than 1000"},
		"service name": {func(s *apiregistration.APIService) { s.Spec.Service.Name = "" },
			"spec.service.name: Required value"},
		"port": {func(s *apiregistration.APIService) { s.Spec.Service.Port = ptr.To[int32](0) },
			"spec.service.port: Invalid value: 0: port is not valid: must be between 1 and 65535, inclusive"},
		"unverified with a bundle": {func(s *apiregistration.APIService) { s.Spec.InsecureSkipTLSVerify = true },
			"spec.insecureSkipTLSVerify: Invalid value: true: may not be true if caBundle is present"},
		"local with a bundle": {func(s *apiregistration.APIService) { s.Spec.Service = nil },
			"spec.caBundle: Invalid value: \"6 bytes\": local APIServices may not have a caBundle"},
	} {
		t.Run(name, func(t *testing.T) {
			service := metrics()
			test.change(service)
			got := ""
			if err := apiregistration.Validate(service).ToAggregate(); err != nil {
				got = err.Error()
			}
			if got != test.want {
				t.Errorf("got  %s\nwant %s", got, test.want)
			}
		})
	}
}

func TestValidateStatus(t *testing.T) {
	service := metrics()
	if errs := apiregistration.ValidateStatus(service); len(errs) > 0 {
		t.Error(errs)
	}
	service.Status.Conditions[0].Status = "Maybe"
	if errs := apiregistration.ValidateStatus(service); len(errs) != 1 {
		t.Errorf("a condition that is maybe: %v", errs)
	}
}

func TestDefault(t *testing.T) {
	service := metrics()
	service.Spec.Service.Port = nil
	apiregistration.Default(service)
	if diff := cmp.Diff(metrics(), service); diff != "" {
		t.Errorf("defaulted (-want +got):\n%s", diff)
	}
}

// A copy shares nothing with its original.
func TestDeepCopy(t *testing.T) {
	original := &apiregistration.APIServiceList{Items: []apiregistration.APIService{*metrics()}}
	copied := original.DeepCopyObject().(*apiregistration.APIServiceList)
	if diff := cmp.Diff(original, copied); diff != "" {
		t.Fatalf("copied (-original +copy):\n%s", diff)
	}
	item := &copied.Items[0]
	item.Labels["a"], *item.Spec.Service.Port, item.Spec.Service.Name = "c", 1, "other"
	item.Spec.CABundle[0], item.Status.Conditions[0].Status = 'x', "False"
	if diff := cmp.Diff(metrics(), &original.Items[0]); diff != "" {
		t.Errorf("the original was changed (-want +got):\n%s", diff)
	}
}
