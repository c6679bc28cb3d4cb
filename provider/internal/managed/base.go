package managed

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/hashicorp/terraform-plugin-framework-timeouts/resource/timeouts"
	"github.com/hashicorp/terraform-plugin-framework/diag"
	"github.com/hashicorp/terraform-plugin-framework/path"
	"github.com/hashicorp/terraform-plugin-framework/resource"
	"github.com/hashicorp/terraform-plugin-framework/resource/identityschema"
	"github.com/hashicorp/terraform-plugin-framework/resource/schema"
	"github.com/hashicorp/terraform-plugin-framework/tfsdk"

	"github.com/karpenterd/terraform-provider-karpenter/provider/internal/session"
)

// Base is what every resource has: its type name, the attributes that identify
// an object of the type, and the provider's session.
type Base struct {
	Kind    string   // type name without the provider's, e.g. node_role
	Keys    []string // attributes that identify an object, for imports and the identity
	Session *session.Session
}

// Identified is a model that knows the values of its resource's keys, in order.
type Identified interface{ IDs() []string }

// ImportID is the id by which a user imports the object: the values of the keys,
// joined by commas.
func ImportID(m Identified) string { return strings.Join(m.IDs(), ",") }

// Metadata gives the type name.
func (b *Base) Metadata(_ context.Context, req resource.MetadataRequest, resp *resource.MetadataResponse) {
	resp.TypeName = req.ProviderTypeName + "_" + b.Kind
}

// Configure takes the session; it is nil while Terraform only validates.
func (b *Base) Configure(_ context.Context, req resource.ConfigureRequest, _ *resource.ConfigureResponse) {
	b.Session, _ = req.ProviderData.(*session.Session)
}

// IdentitySchema has the keys as attributes.
func (b *Base) IdentitySchema(_ context.Context, _ resource.IdentitySchemaRequest, resp *resource.IdentitySchemaResponse) {
	attributes := map[string]identityschema.Attribute{}
	for _, key := range b.Keys {
		attributes[key] = identityschema.StringAttribute{RequiredForImport: true, Description: b.describe(key)}
	}
	resp.IdentitySchema = identityschema.Schema{Attributes: attributes}
}

// describe says what a key is, for the page of the resource.
func (b *Base) describe(key string) string {
	switch key {
	case "cluster_name":
		return "Name of the EKS cluster."
	case "namespace":
		return "Namespace of the daemon."
	}
	return "Name of the " + strings.ReplaceAll(b.Kind, "_", " ") + "."
}

// ImportState takes the keys from the import id or the identity; Read fetches the rest.
func (b *Base) ImportState(ctx context.Context, req resource.ImportStateRequest, resp *resource.ImportStateResponse) {
	values := make([]string, len(b.Keys))
	if req.ID == "" {
		for i, key := range b.Keys {
			resp.Diagnostics.Append(req.Identity.GetAttribute(ctx, path.Root(key), &values[i])...)
		}
	} else {
		values = strings.Split(req.ID, ",")
	}
	if len(values) != len(b.Keys) || slices.Contains(values, "") {
		resp.Diagnostics.AddError("Invalid import id",
			fmt.Sprintf("karpenter_%s: the import id %q does not have the form %q. Write a value for each part of the form.", b.Kind, req.ID, strings.Join(b.Keys, ",")))
		return
	}
	for i, key := range b.Keys {
		resp.Diagnostics.Append(resp.State.SetAttribute(ctx, path.Root(key), values[i])...)
	}
}

// Save writes the model as state, together with the identity. Every path on which
// something exists calls it, failures too.
func (b *Base) Save(ctx context.Context, state *tfsdk.State, identity *tfsdk.ResourceIdentity, diags *diag.Diagnostics, model Identified) {
	diags.Append(state.Set(ctx, model)...)
	b.Identify(ctx, identity, diags, model)
}

// Identify writes the identity. The framework wants an identity after every read,
// even if the read removes the state. Terraform before 1.12 keeps no identity.
func (b *Base) Identify(ctx context.Context, identity *tfsdk.ResourceIdentity, diags *diag.Diagnostics, model Identified) {
	if identity == nil {
		return
	}
	for i, value := range model.IDs() {
		diags.Append(identity.SetAttribute(ctx, path.Root(b.Keys[i]), value)...)
	}
}

// forget ends a read that found nothing that the resource made.
func (b *Base) forget(ctx context.Context, resp *resource.ReadResponse, model Identified) {
	b.Identify(ctx, resp.Identity, &resp.Diagnostics, model)
	resp.State.RemoveResource(ctx)
}

// getter is a plan, a state or a configuration.
type getter interface {
	Get(ctx context.Context, target any) diag.Diagnostics
}

// Get reads a model. ok is false if the read failed.
func Get[T any](ctx context.Context, from getter, diags *diag.Diagnostics) (model T, ok bool) {
	d := from.Get(ctx, &model)
	diags.Append(d...)
	return model, !d.HasError()
}

// timeoutsAttribute offers the operations that wait for something.
func timeoutsAttribute(ctx context.Context, t Times) schema.Attribute {
	describe := func(verb string, d time.Duration) string {
		return "How long to wait for the " + verb + ", such as `90s` or `15m`. Default `" + shortDuration(d) + "`."
	}
	return timeouts.Attributes(ctx, timeouts.Opts{
		Create: true, CreateDescription: describe("creation", t.Create),
		Update: true, UpdateDescription: describe("update", t.Update),
		Delete: true, DeleteDescription: describe("deletion", t.Delete),
	})
}

// shortDuration writes 10m where time.Duration writes 10m0s.
func shortDuration(d time.Duration) string {
	if d%time.Minute == 0 {
		return fmt.Sprintf("%dm", d/time.Minute)
	}
	return d.String()
}

// operation is one of the methods of timeouts.Value.
type operation func(ctx context.Context, fallback time.Duration) (time.Duration, diag.Diagnostics)

// Bounded gives a context that ends with the operation's timeout. The timeouts
// attribute is only a number: the framework does not enforce it.
func Bounded(ctx context.Context, diags *diag.Diagnostics, op operation, fallback time.Duration) (context.Context, context.CancelFunc) {
	d, ds := op(ctx, fallback)
	diags.Append(ds...)
	return context.WithTimeout(ctx, d)
}

// PlanAndState reads the plan and the prior state of an update.
func PlanAndState[T any](ctx context.Context, req resource.UpdateRequest, diags *diag.Diagnostics) (plan, prior T, ok bool) {
	plan, okPlan := Get[T](ctx, req.Plan, diags)
	prior, okState := Get[T](ctx, req.State, diags)
	return plan, prior, okPlan && okState
}
