package resource

import (
	"fmt"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	apivalidation "k8s.io/apimachinery/pkg/api/validation"
	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/utils/ptr"
)

func validateContainers(spec *corev1.PodSpec, podPath *field.Path) errorList {
	path := podPath.Child("containers")
	if len(spec.Containers) == 0 {
		return errorList{field.Required(path, "")}
	}
	var errs errorList
	names, volumes := map[string]bool{}, volumeNames(spec)
	for i := range spec.Containers {
		container, at := &spec.Containers[i], path.Index(i)
		errs = append(errs, validateContainer(container, volumes, at)...)
		if names[container.Name] {
			errs = append(errs, field.Duplicate(at.Child("name"), container.Name))
		}
		names[container.Name] = true
		errs = append(errs, validateRunning(container, at)...)
	}
	return append(errs, validateHostPorts(spec.Containers, path)...)
}

func validateInitContainers(spec *corev1.PodSpec, path *field.Path) errorList {
	var errs errorList
	names, volumes := map[string]bool{}, volumeNames(spec)
	for _, container := range spec.Containers {
		names[container.Name] = true
	}
	for i := range spec.InitContainers {
		container, at := &spec.InitContainers[i], path.Index(i)
		errs = append(errs, validateContainer(container, volumes, at)...)
		errs = append(errs, validateOptionalOneOf(at.Child("restartPolicy"), container.RestartPolicy,
			corev1.ContainerRestartPolicyAlways, corev1.ContainerRestartPolicyNever, corev1.ContainerRestartPolicyOnFailure)...)
		if names[container.Name] {
			errs = append(errs, field.Duplicate(at.Child("name"), container.Name))
		} else if container.Name != "" {
			names[container.Name] = true
		}
		if container.RestartPolicy != nil && *container.RestartPolicy == corev1.ContainerRestartPolicyAlways {
			errs = append(errs, validateRunning(container, at)...)
			continue
		}
		for _, forbidden := range []struct {
			name string
			set  bool
		}{
			{"lifecycle", container.Lifecycle != nil},
			{"livenessProbe", container.LivenessProbe != nil},
			{"readinessProbe", container.ReadinessProbe != nil},
			{"startupProbe", container.StartupProbe != nil},
		} {
			if forbidden.set {
				errs = append(errs, field.Forbidden(at.Child(forbidden.name), "may not be set for init containers without restartPolicy=Always"))
			}
		}
	}
	return errs
}

// validateContainer checks what holds for all containers.
func validateContainer(container *corev1.Container, volumes map[string]bool, path *field.Path) errorList {
	var errs errorList
	check := func(more errorList) { errs = append(errs, more...) }
	if container.Name == "" {
		check(errorList{field.Required(path.Child("name"), "")})
	} else {
		check(dnsLabel(path.Child("name"), container.Name))
	}
	check(required(path.Child("image"), container.Image))
	check(validateOneOf(path.Child("terminationMessagePolicy"), container.TerminationMessagePolicy,
		corev1.TerminationMessageReadFile, corev1.TerminationMessageFallbackToLogsOnError))
	check(validateContainerPorts(container.Ports, path.Child("ports")))
	check(validateEnvironment(container.Env, path.Child("env")))
	check(validateMounts(container.VolumeMounts, volumes, path.Child("volumeMounts")))
	check(validateOneOf(path.Child("imagePullPolicy"), container.ImagePullPolicy, corev1.PullAlways, corev1.PullIfNotPresent, corev1.PullNever))
	check(validateResources(&container.Resources, path.Child("resources")))
	check(validateSecurity(container.SecurityContext, path.Child("securityContext")))
	return errs
}

func validateSecurity(security *corev1.SecurityContext, path *field.Path) errorList {
	if security == nil {
		return nil
	}
	errs := validateID(path.Child("runAsUser"), security.RunAsUser, validation.IsValidUserID)
	errs = append(errs, validateID(path.Child("runAsGroup"), security.RunAsGroup, validation.IsValidGroupID)...)
	if !ptr.Deref(security.AllowPrivilegeEscalation, true) && ptr.Deref(security.Privileged, false) {
		errs = append(errs, field.Invalid(path, securityValue(*security), "cannot set `allowPrivilegeEscalation` to false and `privileged` to true"))
	}
	return errs
}

// securityValue is how the real API server writes a security context.
type securityValue struct {
	Capabilities             *corev1.Capabilities
	Privileged               *bool
	SELinuxOptions           *corev1.SELinuxOptions
	WindowsOptions           *corev1.WindowsSecurityContextOptions
	RunAsUser                *int64
	RunAsGroup               *int64
	RunAsNonRoot             *bool
	ReadOnlyRootFilesystem   *bool
	AllowPrivilegeEscalation *bool
	ProcMount                *corev1.ProcMountType
	SeccompProfile           *corev1.SeccompProfile
	AppArmorProfile          *corev1.AppArmorProfile
}

// validateRunning checks what only containers have that are meant to keep running.
func validateRunning(container *corev1.Container, path *field.Path) errorList {
	var errs errorList
	if container.Lifecycle != nil {
		for _, handler := range []struct {
			name  string
			value *corev1.LifecycleHandler
		}{{"postStart", container.Lifecycle.PostStart}, {"preStop", container.Lifecycle.PreStop}} {
			if h := handler.value; h != nil {
				of := actions{exec: h.Exec, httpGet: h.HTTPGet, tcpSocket: h.TCPSocket, sleep: h.Sleep}
				errs = append(errs, validateHandler(of, path.Child("lifecycle", handler.name))...)
			}
		}
	}
	errs = append(errs, validateProbe(container.LivenessProbe, true, path.Child("livenessProbe"))...)
	errs = append(errs, validateProbe(container.ReadinessProbe, false, path.Child("readinessProbe"))...)
	return append(errs, validateProbe(container.StartupProbe, true, path.Child("startupProbe"))...)
}

// validateProbe checks a probe, which may be absent. Some have to succeed once only.
func validateProbe(probe *corev1.Probe, once bool, path *field.Path) errorList {
	if probe == nil {
		return nil
	}
	errs := validateHandler(actions{exec: probe.Exec, httpGet: probe.HTTPGet, tcpSocket: probe.TCPSocket, grpc: probe.GRPC}, path)
	for _, number := range []struct {
		name  string
		value int32
	}{
		{"initialDelaySeconds", probe.InitialDelaySeconds}, {"timeoutSeconds", probe.TimeoutSeconds}, {"periodSeconds", probe.PeriodSeconds},
		{"successThreshold", probe.SuccessThreshold}, {"failureThreshold", probe.FailureThreshold},
	} {
		errs = append(errs, nonNegative(path.Child(number.name), number.value)...)
	}
	if seconds := probe.TerminationGracePeriodSeconds; seconds != nil && *seconds <= 0 {
		errs = append(errs, field.Invalid(path.Child("terminationGracePeriodSeconds"), *seconds, "must be greater than 0"))
	}
	if once && probe.SuccessThreshold != 1 {
		errs = append(errs, field.Invalid(path.Child("successThreshold"), probe.SuccessThreshold, "must be 1"))
	}
	return errs
}

// actions are what a probe or a lifecycle handler may do. Exactly one is to be set.
type actions struct {
	exec      *corev1.ExecAction
	httpGet   *corev1.HTTPGetAction
	tcpSocket *corev1.TCPSocketAction
	grpc      *corev1.GRPCAction
	sleep     *corev1.SleepAction
}

func validateHandler(a actions, path *field.Path) errorList {
	return exactlyOne(path, "must specify a handler type", "may not specify more than 1 handler type", []choice{
		{"exec", a.exec != nil, func(path *field.Path) errorList {
			if len(a.exec.Command) == 0 {
				return errorList{field.Required(path.Child("command"), "")}
			}
			return nil
		}},
		{"httpGet", a.httpGet != nil, func(path *field.Path) errorList {
			return append(required(path.Child("path"), a.httpGet.Path), slices.Concat(
				validatePortOrName(a.httpGet.Port, path.Child("port")),
				validateOneOf(path.Child("scheme"), a.httpGet.Scheme, corev1.URISchemeHTTP, corev1.URISchemeHTTPS),
			)...)
		}},
		{"tcpSocket", a.tcpSocket != nil, func(path *field.Path) errorList { return validatePortOrName(a.tcpSocket.Port, path.Child("port")) }},
		{"grpc", a.grpc != nil, func(path *field.Path) errorList { return validatePort(path.Child("port"), a.grpc.Port) }},
		{"sleep", a.sleep != nil, nil},
	})
}

// choice is one of several fields of which exactly one is to be set.
type choice struct {
	name string
	set  bool
	// check checks the field; nil when there is nothing to check.
	check func(path *field.Path) errorList
}

// exactlyOne checks the first choice that is set and forbids the others.
func exactlyOne(path *field.Path, none, several string, choices []choice) errorList {
	var errs errorList
	found := false
	for _, c := range choices {
		switch at := path.Child(c.name); {
		case !c.set:
			continue
		case found:
			errs = append(errs, field.Forbidden(at, several))
		case c.check != nil:
			errs = append(errs, c.check(at)...)
		}
		found = true
	}
	if !found {
		return errorList{field.Required(path, none)}
	}
	return errs
}

func validateContainerPorts(ports []corev1.ContainerPort, path *field.Path) errorList {
	var errs errorList
	names := map[string]bool{}
	for i, port := range ports {
		at := path.Index(i)
		if port.Name != "" {
			wrong := invalid(at.Child("name"), port.Name, validation.IsValidPortName(port.Name))
			if errs = append(errs, wrong...); names[port.Name] && len(wrong) == 0 {
				errs = append(errs, field.Duplicate(at.Child("name"), port.Name))
			}
			names[port.Name] = true
		}
		if port.ContainerPort == 0 {
			errs = append(errs, field.Required(at.Child("containerPort"), ""))
		} else {
			errs = append(errs, validatePort(at.Child("containerPort"), port.ContainerPort)...)
		}
		if port.HostPort != 0 {
			errs = append(errs, validatePort(at.Child("hostPort"), port.HostPort)...)
		}
		errs = append(errs, validateProtocol(at.Child("protocol"), port.Protocol)...)
	}
	return errs
}

func validateProtocol(path *field.Path, protocol corev1.Protocol) errorList {
	return validateOneOf(path, protocol, corev1.ProtocolSCTP, corev1.ProtocolTCP, corev1.ProtocolUDP)
}

// validateHostPorts refuses a port of the host that two containers want.
func validateHostPorts(containers []corev1.Container, path *field.Path) errorList {
	var errs errorList
	taken := map[string]bool{}
	for i, container := range containers {
		for j, port := range container.Ports {
			if port.HostPort == 0 {
				continue
			}
			key := fmt.Sprintf("%s/%s/%d", port.Protocol, port.HostIP, port.HostPort)
			if taken[key] {
				errs = append(errs, field.Duplicate(path.Index(i).Child("ports").Index(j).Child("hostPort"), key))
			}
			taken[key] = true
		}
	}
	return errs
}

func validateEnvironment(variables []corev1.EnvVar, path *field.Path) errorList {
	var errs errorList
	for i, variable := range variables {
		at := path.Index(i)
		if variable.Name == "" {
			errs = append(errs, field.Required(at.Child("name"), ""))
		} else {
			errs = append(errs, invalid(at.Child("name"), variable.Name, validation.IsRelaxedEnvVarName(variable.Name))...)
		}
		from := variable.ValueFrom
		if from == nil {
			continue
		}
		if from.FieldRef != nil {
			errs = append(errs, validateEnvironmentField(from.FieldRef.FieldPath, at.Child("valueFrom", "fieldRef", "fieldPath"))...)
		}
		sources := 0
		for _, set := range []bool{
			from.FieldRef != nil, from.ResourceFieldRef != nil, from.ConfigMapKeyRef != nil, from.SecretKeyRef != nil, from.FileKeyRef != nil,
		} {
			if set {
				sources++
			}
		}
		for _, rule := range []struct {
			broken  bool
			message string
		}{
			{sources == 0, "must specify one of: `fieldRef`, `resourceFieldRef`, `configMapKeyRef`, `secretKeyRef` or `fileKeyRef`"},
			{sources > 0 && variable.Value != "", "may not be specified when `value` is not empty"},
			{sources > 1 && variable.Value == "", "may not have more than one field specified at a time"},
		} {
			if rule.broken {
				errs = append(errs, field.Invalid(at.Child("valueFrom"), "", rule.message))
			}
		}
	}
	return errs
}

// validateEnvironmentField refuses a field of the pod that no variable may show.
func validateEnvironmentField(name string, path *field.Path) errorList {
	base, _, subscripted := strings.Cut(name, "['")
	switch base {
	case "metadata.annotations", "metadata.labels":
		if subscripted {
			return nil
		}
	case "metadata.name", "metadata.namespace", "metadata.uid", "spec.nodeName", "spec.serviceAccountName",
		"spec.restartPolicy", "spec.schedulerName", "status.phase", "status.hostIP", "status.hostIPs", "status.podIP", "status.podIPs":
	default:
		return errorList{field.Invalid(path, name, "error converting fieldPath: field label not supported: "+name)}
	}
	return validateOneOf(path, name, "metadata.name", "metadata.namespace", "metadata.uid", "spec.nodeName", "spec.serviceAccountName",
		"status.hostIP", "status.hostIPs", "status.podIP", "status.podIPs")
}

func validateMounts(mounts []corev1.VolumeMount, volumes map[string]bool, path *field.Path) errorList {
	var errs errorList
	paths := map[string]bool{}
	for i, mount := range mounts {
		at := path.Index(i)
		errs = append(errs, required(at.Child("name"), mount.Name)...)
		if !volumes[mount.Name] {
			errs = append(errs, field.NotFound(at.Child("name"), mount.Name))
		}
		errs = append(errs, required(at.Child("mountPath"), mount.MountPath)...)
		if paths[mount.MountPath] {
			errs = append(errs, field.Invalid(at.Child("mountPath"), mount.MountPath, "must be unique"))
		}
		paths[mount.MountPath] = true
	}
	return errs
}

func validateResources(resources *corev1.ResourceRequirements, path *field.Path) errorList {
	var errs errorList
	limits, requests := path.Child("limits"), path.Child("requests")
	for _, name := range sortedKeys(resources.Limits) {
		errs = append(errs, validateResource(limits.Key(string(name)), name, resources.Limits[name])...)
	}
	for _, name := range sortedKeys(resources.Requests) {
		request := resources.Requests[name]
		errs = append(errs, validateResource(requests.Key(string(name)), name, request)...)
		switch limit, limited := resources.Limits[name]; {
		case !limited && !mayOvercommit(name):
			errs = append(errs, field.Required(limits, "Limit must be set for non overcommitable resources"))
		case limited && !mayOvercommit(name) && request.Cmp(limit) != 0:
			errs = append(errs, field.Invalid(requests, request.String(), fmt.Sprintf("must be equal to %s limit of %s", name, limit.String())))
		case limited && request.Cmp(limit) > 0:
			errs = append(errs, field.Invalid(requests, request.String(), fmt.Sprintf("must be less than or equal to %s limit of %s", name, limit.String())))
		}
	}
	return errs
}

// validateResource checks a container's request of, or limit to, a resource.
func validateResource(path *field.Path, name corev1.ResourceName, quantity resource.Quantity) errorList {
	var errs errorList
	switch name {
	case corev1.ResourceCPU, corev1.ResourceMemory, corev1.ResourceEphemeralStorage:
	default:
		if !strings.Contains(string(name), "/") && !isHugePages(name) {
			errs = append(errs, field.Invalid(path, name, "must be a standard resource type or fully qualified"),
				field.Invalid(path, name, "must be a standard resource for containers"))
		}
	}
	return append(errs, nonNegativeQuantity(path, quantity)...)
}

func nonNegativeQuantity(path *field.Path, quantity resource.Quantity) errorList {
	if quantity.Sign() >= 0 {
		return nil
	}
	return errorList{field.Invalid(path, quantity.String(), apivalidation.IsNegativeErrorMsg)}
}

func isHugePages(name corev1.ResourceName) bool {
	return strings.HasPrefix(string(name), corev1.ResourceHugePagesPrefix)
}

// mayOvercommit tells whether the limits of the containers of a node may add up to more than it has. Of resources of
// somebody else's domain, such as devices, they may not.
func mayOvercommit(name corev1.ResourceName) bool {
	domain, _, qualified := strings.Cut(string(name), "/")
	return !isHugePages(name) && (!qualified || strings.HasSuffix(domain, "kubernetes.io"))
}
