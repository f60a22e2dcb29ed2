package printers

import (
	"fmt"
	"strings"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	autoscalingv1 "k8s.io/api/autoscaling/v1"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/duration"
)

// containers are the names and images of a pod's containers.
func containers(spec corev1.PodSpec) (names, images string) {
	var allNames, allImages []string
	for _, container := range spec.Containers {
		allNames, allImages = append(allNames, container.Name), append(allImages, container.Image)
	}
	return strings.Join(allNames, ","), strings.Join(allImages, ",")
}

func replicationControllerCells(controller *corev1.ReplicationController, now time.Time) []any {
	var spec corev1.PodSpec
	if controller.Spec.Template != nil {
		spec = controller.Spec.Template.Spec
	}
	names, images := containers(spec)
	return []any{
		controller.Name, int64(valueOr(controller.Spec.Replicas, 0)), int64(controller.Status.Replicas),
		int64(controller.Status.ReadyReplicas), age(controller, now), names, images, labels.FormatLabels(controller.Spec.Selector),
	}
}

func controllerRevisionCells(revision *appsv1.ControllerRevision, now time.Time) []any {
	controller := none
	if owner := metav1.GetControllerOfNoCopy(revision); owner != nil {
		kind := schema.FromAPIVersionAndKind(owner.APIVersion, owner.Kind).GroupKind()
		controller = strings.ToLower(kind.String()) + "/" + owner.Name
	}
	return []any{revision.Name, controller, revision.Revision, age(revision, now)}
}

func daemonSetCells(set *appsv1.DaemonSet, now time.Time) []any {
	names, images := containers(set.Spec.Template.Spec)
	return []any{
		set.Name, int64(set.Status.DesiredNumberScheduled), int64(set.Status.CurrentNumberScheduled), int64(set.Status.NumberReady),
		int64(set.Status.UpdatedNumberScheduled), int64(set.Status.NumberAvailable),
		labels.FormatLabels(set.Spec.Template.Spec.NodeSelector), age(set, now), names, images, metav1.FormatLabelSelector(set.Spec.Selector),
	}
}

func deploymentCells(deployment *appsv1.Deployment, now time.Time) []any {
	names, images := containers(deployment.Spec.Template.Spec)
	selects := "<invalid>"
	if selector, err := metav1.LabelSelectorAsSelector(deployment.Spec.Selector); err == nil {
		selects = selector.String()
	}
	return []any{
		deployment.Name, fmt.Sprintf("%d/%d", deployment.Status.ReadyReplicas, valueOr(deployment.Spec.Replicas, 0)),
		int64(deployment.Status.UpdatedReplicas), int64(deployment.Status.AvailableReplicas), age(deployment, now),
		names, images, selects,
	}
}

func replicaSetCells(set *appsv1.ReplicaSet, now time.Time) []any {
	names, images := containers(set.Spec.Template.Spec)
	return []any{
		set.Name, int64(valueOr(set.Spec.Replicas, 0)), int64(set.Status.Replicas), int64(set.Status.ReadyReplicas), age(set, now),
		names, images, metav1.FormatLabelSelector(set.Spec.Selector),
	}
}

func statefulSetCells(set *appsv1.StatefulSet, now time.Time) []any {
	names, images := containers(set.Spec.Template.Spec)
	return []any{
		set.Name, fmt.Sprintf("%d/%d", set.Status.ReadyReplicas, valueOr(set.Spec.Replicas, 0)), age(set, now), names, images,
	}
}

func scaleCells(scale *autoscalingv1.Scale, now time.Time) []any {
	return []any{scale.Name, int64(scale.Spec.Replicas), int64(scale.Status.Replicas), age(scale, now)}
}

// scaleColumns are those of scales, which are not listed.
func scaleColumns() []metav1.TableColumnDefinition {
	metadata := metav1.ObjectMeta{}.SwaggerDoc()
	return []metav1.TableColumnDefinition{
		{Name: "Name", Type: "string", Description: metadata["name"]},
		{Name: "Desired", Type: "integer", Description: autoscalingv1.ScaleSpec{}.SwaggerDoc()["replicas"]},
		{Name: "Available", Type: "integer", Description: autoscalingv1.ScaleStatus{}.SwaggerDoc()["replicas"]},
		{Name: "Age", Type: "string", Description: metadata["creationTimestamp"]},
	}
}

func jobCells(job *batchv1.Job, now time.Time) []any {
	completions := fmt.Sprintf("%d/1", job.Status.Succeeded)
	switch {
	case job.Spec.Completions != nil:
		completions = fmt.Sprintf("%d/%d", job.Status.Succeeded, *job.Spec.Completions)
	case valueOr(job.Spec.Parallelism, 0) > 1:
		completions += fmt.Sprintf(" of %d", *job.Spec.Parallelism)
	}
	took := ""
	if job.Status.StartTime != nil {
		end := now
		if job.Status.CompletionTime != nil {
			end = job.Status.CompletionTime.Time
		}
		took = duration.HumanDuration(end.Sub(job.Status.StartTime.Time))
	}
	names, images := containers(job.Spec.Template.Spec)
	return []any{
		job.Name, jobStatus(job), completions, took, age(job, now), names, images, metav1.FormatLabelSelector(job.Spec.Selector),
	}
}

func jobStatus(job *batchv1.Job) string {
	is := map[batchv1.JobConditionType]bool{}
	for _, condition := range job.Status.Conditions {
		if _, ok := is[condition.Type]; !ok {
			is[condition.Type] = condition.Status == corev1.ConditionTrue
		}
	}
	switch {
	case is[batchv1.JobComplete]:
		return "Complete"
	case is[batchv1.JobFailed]:
		return "Failed"
	case job.DeletionTimestamp != nil:
		return "Terminating"
	case is[batchv1.JobSuspended]:
		return "Suspended"
	case is[batchv1.JobFailureTarget]:
		return "FailureTarget"
	case is[batchv1.JobSuccessCriteriaMet]:
		return "SuccessCriteriaMet"
	}
	return "Running"
}

func cronJobCells(job *batchv1.CronJob, now time.Time) []any {
	last := none
	if job.Status.LastScheduleTime != nil {
		last = since(*job.Status.LastScheduleTime, now)
	}
	suspended := unset
	if job.Spec.Suspend != nil {
		suspended = map[bool]string{true: "True", false: "False"}[*job.Spec.Suspend]
	}
	names, images := containers(job.Spec.JobTemplate.Spec.Template.Spec)
	return []any{
		job.Name, job.Spec.Schedule, valueOr(job.Spec.TimeZone, none), suspended, int64(len(job.Status.Active)), last, age(job, now),
		names, images, metav1.FormatLabelSelector(job.Spec.JobTemplate.Spec.Selector),
	}
}
