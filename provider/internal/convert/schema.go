package convert

import (
	"reflect"

	"github.com/hashicorp/terraform-plugin-framework/resource/schema"
	"github.com/hashicorp/terraform-plugin-framework/schema/validator"
	"github.com/hashicorp/terraform-plugin-framework/types/basetypes"

	"github.com/karpenterd/terraform-provider-karpenter/provider/internal/fwtype"
	"github.com/karpenterd/terraform-provider-karpenter/provider/internal/validate"
)

// texts describe attributes, by path: ebs.iops of block_device_mappings is
// block_device_mappings.ebs.iops.
type texts map[string]string

// attributes makes the schema's attributes of the fields that the model holds.
func (t texts) attributes(model, wire any) map[string]schema.Attribute {
	out := map[string]schema.Attribute{}
	for name := range held(reflect.ValueOf(model)) {
		if f, has := fieldNamed(reflect.TypeOf(wire), name); has {
			out[name] = t.attribute(name, f)
		}
	}
	return out
}

// attribute is the attribute of a field. What it must be beyond its type, the definition says:
// package definition checks the whole object.
func (t texts) attribute(at string, f field) schema.Attribute {
	text, required, optional := t[at], f.required, !f.required
	switch of := f.attribute().(type) {
	case fwtype.Type:
		rule := validate.Duration()
		if of.Equal(fwtype.Quantity()) {
			rule = validate.Quantity()
		}
		return schema.StringAttribute{Required: required, Optional: optional, MarkdownDescription: text, CustomType: of, Validators: []validator.String{rule}}
	case basetypes.BoolType:
		return schema.BoolAttribute{Required: required, Optional: optional, MarkdownDescription: text}
	case basetypes.Int32Type:
		return schema.Int32Attribute{Required: required, Optional: optional, MarkdownDescription: text}
	case basetypes.Int64Type:
		return schema.Int64Attribute{Required: required, Optional: optional, MarkdownDescription: text}
	case basetypes.DynamicType:
		return schema.DynamicAttribute{Required: required, Optional: optional, MarkdownDescription: text}
	case basetypes.MapType:
		return schema.MapAttribute{Required: required, Optional: optional, MarkdownDescription: text, ElementType: of.ElemType}
	case basetypes.ListType:
		if _, objects := of.ElemType.(basetypes.ObjectType); objects {
			return schema.ListNestedAttribute{Required: required, Optional: optional, MarkdownDescription: text, NestedObject: schema.NestedAttributeObject{Attributes: t.within(at, f.typ.Elem())}}
		}
		return schema.ListAttribute{Required: required, Optional: optional, MarkdownDescription: text, ElementType: of.ElemType}
	case basetypes.ObjectType:
		return schema.SingleNestedAttribute{Required: required, Optional: optional, MarkdownDescription: text, Attributes: t.within(at, f.typ)}
	}
	return schema.StringAttribute{Required: required, Optional: optional, MarkdownDescription: text}
}

// within are the attributes of an object.
func (t texts) within(at string, wire reflect.Type) map[string]schema.Attribute {
	if wire.Kind() == reflect.Pointer {
		wire = wire.Elem()
	}
	out := map[string]schema.Attribute{}
	for _, f := range fieldsOf(wire) {
		out[f.name] = t.attribute(at+"."+f.name, f)
	}
	return out
}
