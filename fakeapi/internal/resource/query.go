package resource

import (
	"net/url"
	"reflect"
	"strconv"
	"strings"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/conversion"
	"k8s.io/apimachinery/pkg/runtime"
)

// addQueryConversions lets options be read from a URL's query.
func addQueryConversions(scheme *runtime.Scheme) error {
	for _, options := range []runtime.Object{
		&corev1.PodAttachOptions{}, &corev1.PodExecOptions{}, &corev1.PodLogOptions{}, &corev1.PodPortForwardOptions{},
		&corev1.PodProxyOptions{}, &corev1.ServiceProxyOptions{}, &corev1.NodeProxyOptions{},
	} {
		if err := scheme.AddConversionFunc((*url.Values)(nil), options, fromQuery); err != nil {
			return err
		}
	}
	return nil
}

// fromQuery fills in a struct from the query parameters that its JSON names name.
func fromQuery(from, to any, _ conversion.Scope) error {
	query := *from.(*url.Values)
	target := reflect.ValueOf(to).Elem()
	for i := range target.NumField() {
		name, _, _ := strings.Cut(target.Type().Field(i).Tag.Get("json"), ",")
		values := query[name]
		if name == "" || len(values) == 0 {
			continue
		}
		if err := setFromQuery(target.Field(i), values); err != nil {
			return err // as the real API server has it, without the name of the parameter
		}
	}
	return nil
}

func setFromQuery(field reflect.Value, values []string) error {
	switch field.Interface().(type) {
	case []string:
		field.Set(reflect.ValueOf(values))
		return nil
	case []int32:
		var numbers []int32
		for _, value := range values {
			number, err := strconv.ParseInt(value, 10, 32)
			if err != nil {
				return err
			}
			numbers = append(numbers, int32(number))
		}
		field.Set(reflect.ValueOf(numbers))
		return nil
	case *metav1.Time:
		var at metav1.Time
		if err := at.UnmarshalQueryParameter(values[0]); err != nil {
			return err
		}
		field.Set(reflect.ValueOf(&at))
		return nil
	}
	if field.Kind() == reflect.Pointer {
		field.Set(reflect.New(field.Type().Elem()))
		field = field.Elem()
	}
	switch field.Kind() {
	case reflect.String:
		field.SetString(values[0])
	case reflect.Bool:
		var b bool
		if err := runtime.Convert_Slice_string_To_bool(&values, &b, nil); err != nil {
			return err
		}
		field.SetBool(b)
	case reflect.Int64:
		number, err := strconv.ParseInt(values[0], 10, 64)
		if err != nil {
			return err
		}
		field.SetInt(number)
	}
	return nil
}
