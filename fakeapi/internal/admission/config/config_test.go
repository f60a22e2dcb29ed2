package config_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/gatehouse-dev/gatehouse/fakeapi/internal/admission/config"
	"github.com/gatehouse-dev/gatehouse/fakeapi/internal/admission/config/configtest"
)

func TestValidate(t *testing.T) {
	for _, tt := range configtest.Cases(t) {
		t.Run(tt.Name, func(t *testing.T) {
			config.Default(tt.Object)
			errs := field.ErrorList(nil)
			if tt.Old == nil {
				errs = config.Validate(tt.Object)
			} else {
				config.Default(tt.Old)
				errs = config.ValidateUpdate(tt.Object, tt.Old)
			}
			var got []string
			for _, err := range errs {
				got = append(got, err.Error())
			}
			if diff := cmp.Diff(tt.Want, got); diff != "" {
				t.Errorf("errors (-want +got):\n%s", diff)
			}
		})
	}
}
