package resource

import resourcev1 "k8s.io/api/resource/v1"

func defaultResourceClaim(claim *resourcev1.ResourceClaim) {
	defaultDeviceClaim(&claim.Spec.Devices)
	if allocation := claim.Status.Allocation; allocation != nil {
		for i := range allocation.Devices.Results {
			defaultDeviceTolerations(allocation.Devices.Results[i].Tolerations)
		}
	}
}

func defaultResourceClaimTemplate(template *resourcev1.ResourceClaimTemplate) {
	defaultDeviceClaim(&template.Spec.Spec.Devices)
}

// defaultDeviceClaim asks for one device where nothing else is said.
func defaultDeviceClaim(claim *resourcev1.DeviceClaim) {
	for i := range claim.Requests {
		if exactly := claim.Requests[i].Exactly; exactly != nil {
			defaultDeviceCount(&exactly.AllocationMode, &exactly.Count)
			defaultDeviceTolerations(exactly.Tolerations)
		}
		for j := range claim.Requests[i].FirstAvailable {
			alternative := &claim.Requests[i].FirstAvailable[j]
			defaultDeviceCount(&alternative.AllocationMode, &alternative.Count)
			defaultDeviceTolerations(alternative.Tolerations)
		}
	}
}

func defaultDeviceCount(mode *resourcev1.DeviceAllocationMode, count *int64) {
	orElse(mode, resourcev1.DeviceAllocationModeExactCount)
	if *mode == resourcev1.DeviceAllocationModeExactCount {
		orElse(count, 1)
	}
}

func defaultDeviceTolerations(tolerations []resourcev1.DeviceToleration) {
	for i := range tolerations {
		orElse(&tolerations[i].Operator, resourcev1.DeviceTolerationOpEqual)
	}
}
