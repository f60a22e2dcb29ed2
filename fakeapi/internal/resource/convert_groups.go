package resource

import (
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// acrossGroups converts for managed fields. An entry there names the version that the manager wrote in, which may be of
// another group than that of the request where the kind is served in several.
type acrossGroups struct {
	runtime.ObjectConvertor
	scheme *runtime.Scheme
	// hub is the version, in each group, that managed fields would have objects converted by.
	hub string
}

// ConvertToVersion implements runtime.ObjectConvertor.
func (c acrossGroups) ConvertToVersion(in runtime.Object, target runtime.GroupVersioner) (runtime.Object, error) {
	version, ok := target.(schema.GroupVersion)
	from := in.GetObjectKind().GroupVersionKind()
	to := version.WithKind(from.Kind)
	switch known := c.scheme.Recognizes(to); {
	case !ok || !servedTogether(from.GroupKind(), to.GroupKind()):
		return c.ObjectConvertor.ConvertToVersion(in, target)
	case !known && version.Group == from.Group && version.Version == c.hub:
		return in, nil // there is no such version, and none is needed: versions are converted directly
	case !known || version.Group == from.Group:
		return c.ObjectConvertor.ConvertToVersion(in, target)
	}
	out, err := c.scheme.New(to)
	if err != nil {
		return nil, err
	}
	if err := c.scheme.Convert(in, out, nil); err != nil {
		return nil, err
	}
	out.GetObjectKind().SetGroupVersionKind(to)
	return out, nil
}

// servedTogether tells whether two kinds of different groups are the same objects.
func servedTogether(a, b schema.GroupKind) bool {
	together := shared().together
	return together[a] != "" && together[a] == together[b]
}

// kindsTogether gives the kinds that are served in several groups a name by what they are.
func kindsTogether(rows []row) map[schema.GroupKind]string {
	names := map[schema.GroupKind]string{}
	for _, row := range rows {
		for _, version := range row.versions() {
			if version.Group != row.stored.Group {
				names[row.storageKind().GroupKind()] = row.storedUnder().String()
				names[version.WithKind(row.kind).GroupKind()] = row.storedUnder().String()
			}
		}
	}
	for _, group := range []string{"autoscaling", "apps", "extensions"} {
		names[schema.GroupKind{Group: group, Kind: "Scale"}] = "scales"
	}
	return names
}
