// Package values has the values of an installation without Terraform: what users write for the
// command "karpenterd manifests" and for the Helm chart. Both read one type, so both have the same
// fields, defaults and texts, and the chart's values.yaml and values.schema.json are made of it.
//
// The names are those of Karpenter's chart where the meaning is the same (settings.clusterName,
// settings.interruptionQueue, controller.resources, additionalLabels), so that values written for
// Karpenter stay as they are. Three things differ, because the options of the installation do:
//   - serviceAccount.roleARN stands for the annotation of the service account. The role is checked, and
//     another one replaces the pods.
//   - controller.environment is a map, which Helm merges by name; a list would be replaced as a whole.
//   - The namespace is no value: it is that of the release, or the flag --namespace.
//
// Invariants: pure. Values are merged as Helm merges them: maps by key, lists as a whole, and null
// takes a default away, and nothing else. A key or a type that is not described is an error which names the field.
// Ports are TCP; costs are dollars an hour.
package values
