package resource

import (
	"fmt"

	appsv1beta1 "k8s.io/api/apps/v1beta1"
	appsv1beta2 "k8s.io/api/apps/v1beta2"
	autoscalingv1 "k8s.io/api/autoscaling/v1"
	extensionsv1beta1 "k8s.io/api/extensions/v1beta1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
)

// scales are the kinds that scale subresources have had. All but that of autoscaling/v1 have the same fields.
func scales() []runtime.Object {
	return []runtime.Object{&autoscalingv1.Scale{}, &appsv1beta2.Scale{}, &appsv1beta1.Scale{}, &extensionsv1beta1.Scale{}}
}

// convertScale carries the selector of the pods, which is one string in autoscaling/v1 and was two fields before: the
// string, and a map where the selector is no more than that.
func convertScale(from, to runtime.Object) error {
	var common extensionsv1beta1.Scale
	if scale, ok := from.(*autoscalingv1.Scale); ok {
		selector, err := metav1.ParseToLabelSelector(scale.Status.Selector)
		if err != nil {
			return fmt.Errorf("the scale's selector: %w", err)
		}
		common.ObjectMeta = *scale.ObjectMeta.DeepCopy()
		common.Spec.Replicas = scale.Spec.Replicas
		common.Status.Replicas = scale.Status.Replicas
		common.Status.TargetSelector = scale.Status.Selector
		if len(selector.MatchExpressions) == 0 {
			common.Status.Selector = selector.MatchLabels
		}
	} else if err := throughJSON(from, &common, nil); err != nil {
		return err
	}
	scale, ok := to.(*autoscalingv1.Scale)
	if !ok {
		return throughJSON(&common, to, nil)
	}
	scale.ObjectMeta = common.ObjectMeta
	scale.Spec.Replicas = common.Spec.Replicas
	scale.Status.Replicas = common.Status.Replicas
	scale.Status.Selector = common.Status.TargetSelector
	if scale.Status.Selector == "" && common.Status.Selector != nil {
		scale.Status.Selector = labels.SelectorFromSet(common.Status.Selector).String()
	}
	return nil
}
