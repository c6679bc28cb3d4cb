package simulate

import _ "embed"

// schema is made from the types of the Report by TestSchema_IsMadeFromTheTypes.
//
//go:embed schema.json
var schema string

// JSONSchema describes what WriteJSON writes, as JSON Schema of 2020-12.
func JSONSchema() string { return schema }
