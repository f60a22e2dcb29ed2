package authz

import (
	"context"
	"fmt"

	authorizationv1 "k8s.io/api/authorization/v1"
	apiequality "k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/apiserver/pkg/authentication/user"
	"k8s.io/apiserver/pkg/authorization/authorizer"
	"k8s.io/apiserver/pkg/endpoints/request"
)

// Authorizer decides, and lists the rules that it decides by.
type Authorizer interface {
	authorizer.UnconditionalAuthorizer
	authorizer.RuleResolver
}

// Review answers an access review: it fills in the status of a SubjectAccessReview, LocalSubjectAccessReview,
// SelfSubjectAccessReview or SelfSubjectRulesReview. A review that asks wrongly is refused with an API status.
func Review(ctx context.Context, auth Authorizer, obj runtime.Object) error {
	switch review := obj.(type) {
	case *authorizationv1.SubjectAccessReview:
		errs := validateSubject(&review.Spec)
		errs = append(errs, validateMetadata(review.ObjectMeta, "must be empty")...)
		if len(errs) > 0 {
			return invalid(errs)
		}
		review.Status = decide(ctx, auth, attributesOf(&review.Spec))

	case *authorizationv1.LocalSubjectAccessReview:
		if errs := validateLocal(review); len(errs) > 0 {
			return invalid(errs)
		}
		review.Status = decide(ctx, auth, attributesOf(&review.Spec))

	case *authorizationv1.SelfSubjectAccessReview:
		errs := validateOneOf(review.Spec.ResourceAttributes, review.Spec.NonResourceAttributes)
		errs = append(errs, validateSelectors(review.Spec.ResourceAttributes)...)
		errs = append(errs, validateMetadata(review.ObjectMeta, "must be empty")...)
		if len(errs) > 0 {
			return invalid(errs)
		}
		who, err := requester(ctx)
		if err != nil {
			return err
		}
		review.Status = decide(ctx, auth, attributes(who, review.Spec.ResourceAttributes, review.Spec.NonResourceAttributes))

	case *authorizationv1.SelfSubjectRulesReview:
		who, err := requester(ctx)
		if err != nil {
			return err
		}
		if review.Spec.Namespace == "" {
			return apierrors.NewBadRequest("no namespace on request")
		}
		review.Status = listRules(ctx, auth, who, review.Spec.Namespace)
		// The real server answers with the status alone.
		review.ObjectMeta, review.Spec = metav1.ObjectMeta{}, authorizationv1.SelfSubjectRulesReviewSpec{}

	default:
		return apierrors.NewBadRequest(fmt.Sprintf("not an access review: %T", obj))
	}
	return nil
}

// decide asks the authorizer and words its decision as a status.
func decide(ctx context.Context, auth authorizer.UnconditionalAuthorizer, asked authorizer.AttributesRecord) authorizationv1.SubjectAccessReviewStatus {
	decision, reason, err := auth.Authorize(ctx, asked)
	return authorizationv1.SubjectAccessReviewStatus{
		Allowed:         decision == authorizer.DecisionAllow,
		Denied:          decision == authorizer.DecisionDeny,
		Reason:          reason,
		EvaluationError: evaluationError(err, asked),
	}
}

func listRules(ctx context.Context, resolver authorizer.RuleResolver, who user.Info, namespace string) authorizationv1.SubjectRulesReviewStatus {
	resources, nonResources, incomplete, err := resolver.RulesFor(ctx, who, namespace)
	status := authorizationv1.SubjectRulesReviewStatus{
		ResourceRules:    make([]authorizationv1.ResourceRule, 0, len(resources)),
		NonResourceRules: make([]authorizationv1.NonResourceRule, 0, len(nonResources)),
		Incomplete:       incomplete,
	}
	for _, rule := range resources {
		status.ResourceRules = append(status.ResourceRules, authorizationv1.ResourceRule{
			Verbs: rule.GetVerbs(), APIGroups: rule.GetAPIGroups(), Resources: rule.GetResources(), ResourceNames: rule.GetResourceNames(),
		})
	}
	for _, rule := range nonResources {
		status.NonResourceRules = append(status.NonResourceRules, authorizationv1.NonResourceRule{
			Verbs: rule.GetVerbs(), NonResourceURLs: rule.GetNonResourceURLs(),
		})
	}
	if err != nil {
		status.EvaluationError = err.Error()
	}
	return status
}

// requester is the user who asks.
func requester(ctx context.Context) (user.Info, error) {
	who, ok := request.UserFrom(ctx)
	if !ok {
		return nil, apierrors.NewBadRequest("no user present on request")
	}
	return who, nil
}

// attributesOf is what a review asks about a user that it names.
func attributesOf(spec *authorizationv1.SubjectAccessReviewSpec) authorizer.AttributesRecord {
	var extra map[string][]string
	if spec.Extra != nil {
		extra = make(map[string][]string, len(spec.Extra))
		for key, values := range spec.Extra {
			extra[key] = values
		}
	}
	who := &user.DefaultInfo{Name: spec.User, Groups: spec.Groups, UID: spec.UID, Extra: extra}
	return attributes(who, spec.ResourceAttributes, spec.NonResourceAttributes)
}

// invalid does not say of what kind the review is, as the real API server does not.
func invalid(errs field.ErrorList) error {
	return apierrors.NewInvalid(schema.GroupKind{Group: authorizationv1.GroupName}, "", errs)
}

func validateSubject(spec *authorizationv1.SubjectAccessReviewSpec) field.ErrorList {
	errs := validateOneOf(spec.ResourceAttributes, spec.NonResourceAttributes)
	if spec.User == "" && len(spec.Groups) == 0 {
		errs = append(errs, field.Invalid(field.NewPath("spec", "user"), spec.User, "at least one of user or group must be specified"))
	}
	return append(errs, validateSelectors(spec.ResourceAttributes)...)
}

func validateLocal(review *authorizationv1.LocalSubjectAccessReview) field.ErrorList {
	errs := validateSubject(&review.Spec)
	errs = append(errs, validateMetadata(review.ObjectMeta, "must be empty except for namespace")...)
	if resource := review.Spec.ResourceAttributes; resource != nil && resource.Namespace != review.Namespace {
		errs = append(errs, field.Invalid(field.NewPath("spec", "resourceAttributes", "namespace"), resource.Namespace, "must match metadata.namespace"))
	}
	if nonResource := review.Spec.NonResourceAttributes; nonResource != nil {
		errs = append(errs, field.Invalid(field.NewPath("spec", "nonResourceAttributes"), (*written)(nonResource), "disallowed on this kind of request"))
	}
	return errs
}

// validateMetadata demands that there is none but for what the server fills in, the namespace of a local review included.
func validateMetadata(metadata metav1.ObjectMeta, detail string) field.ErrorList {
	given := metadata
	given.Namespace, given.ManagedFields = "", nil
	if apiequality.Semantic.DeepEqual(metav1.ObjectMeta{}, given) {
		return nil
	}
	return field.ErrorList{field.Invalid(field.NewPath("metadata"), metadata, detail)}
}
