// Package testproject is the root of a project in the layout of kubebuilder: a custom kind in two versions with a
// conversion webhook, defaulting and validating webhooks, a controller, and their manifests. Its own suite, written for
// envtest, runs on fakeapi unchanged, and so does its manager; that is what its tests show.
//
// What is generated in it comes from controller-gen v0.23.0:
//
//	controller-gen rbac:roleName=manager-role crd webhook object paths=./... output:crd:artifacts:config=config/crd/bases
//	kubectl kustomize config/default > dist/install.yaml
package testproject
