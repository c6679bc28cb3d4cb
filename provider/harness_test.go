package provider_test

import (
	"context"
	"strings"
	"testing"

	"github.com/hashicorp/terraform-plugin-framework/providerserver"
	"github.com/hashicorp/terraform-plugin-go/tfprotov6"
	"github.com/hashicorp/terraform-plugin-go/tftypes"

	"github.com/karpenterd/terraform-provider-karpenter/provider"
)

// harness calls the provider over its protocol as Terraform does, in the test's
// process and without a command line tool.
type harness struct {
	t      *testing.T
	server tfprotov6.ProviderServer
	schema *tfprotov6.GetProviderSchemaResponse
}

// unknown is a value that is known only after apply.
type unknown struct{}

type (
	// object is a configuration or a nested object; attributes left out are null.
	object = map[string]any
	list   = []any
)

// releaseDigest is the digest of the image of the release that the tests run.
const releaseDigest = "sha256:0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"

func newHarness(t *testing.T) *harness {
	t.Helper()
	return newHarnessOf(t, "1.2.3", releaseDigest)
}

// newHarnessOf is a harness of another build of the provider.
func newHarnessOf(t *testing.T, version, imageDigest string) *harness {
	t.Helper()
	server, err := providerserver.NewProtocol6WithError(provider.New(version, imageDigest)())()
	if err != nil {
		t.Fatal(err)
	}
	schema, err := server.GetProviderSchema(t.Context(), &tfprotov6.GetProviderSchemaRequest{})
	if err != nil {
		t.Fatal(err)
	}
	wantNoError(t, schema.Diagnostics)
	return &harness{t: t, server: server, schema: schema}
}

// configured is a harness with the provider configured.
func configured(t *testing.T, config object) *harness {
	t.Helper()
	h := newHarness(t)
	wantNoError(t, h.configure(config))
	return h
}

// hasty is configured with a provider whose pauses between tries are short.
func hasty(t *testing.T, config object) *harness {
	t.Helper()
	h := newHarness(t)
	return h.again(config)
}

// again is the same provider in a new process, with short pauses between tries.
func (h *harness) again(config object) *harness {
	h.t.Helper()
	server, err := providerserver.NewProtocol6WithError(provider.NewHasty("1.2.3", releaseDigest)())()
	if err != nil {
		h.t.Fatal(err)
	}
	next := &harness{t: h.t, server: server, schema: h.schema}
	wantNoError(h.t, next.configure(config))
	return next
}

// stop is what Terraform does when the user interrupts it.
func (h *harness) stop() {
	if _, err := h.server.StopProvider(context.Background(), &tfprotov6.StopProviderRequest{}); err != nil {
		h.t.Error(err)
	}
}

func (h *harness) configure(config object) []*tfprotov6.Diagnostic {
	h.t.Helper()
	resp, err := h.server.ConfigureProvider(h.t.Context(), &tfprotov6.ConfigureProviderRequest{Config: h.encode(h.schema.Provider.ValueType(), config)})
	if err != nil {
		h.t.Fatal(err)
	}
	return resp.Diagnostics
}

func (h *harness) validateProvider(config object) []*tfprotov6.Diagnostic {
	h.t.Helper()
	resp, err := h.server.ValidateProviderConfig(h.t.Context(), &tfprotov6.ValidateProviderConfigRequest{Config: h.encode(h.schema.Provider.ValueType(), config)})
	if err != nil {
		h.t.Fatal(err)
	}
	return resp.Diagnostics
}

func (h *harness) validate(kind string, config object) []*tfprotov6.Diagnostic {
	h.t.Helper()
	resp, err := h.server.ValidateResourceConfig(h.t.Context(), &tfprotov6.ValidateResourceConfigRequest{TypeName: kind, Config: h.encode(h.typeOf(kind), config)})
	if err != nil {
		h.t.Fatal(err)
	}
	return resp.Diagnostics
}

// instance is one resource as Terraform keeps it between runs.
type instance struct {
	h        *harness
	kind     string
	state    tftypes.Value
	private  []byte
	identity *tfprotov6.ResourceIdentityData
	tainted  bool // its creation failed and left state: the next apply replaces it
}

// resource begins with nothing.
func (h *harness) resource(kind string) *instance {
	return &instance{h: h, kind: kind, state: tftypes.NewValue(h.typeOf(kind), nil)}
}

// plan is the result of a plan.
type plan struct {
	value    tftypes.Value
	config   tftypes.Value
	replace  []string
	private  []byte
	problems []*tfprotov6.Diagnostic
	identity *tfprotov6.ResourceIdentityData
}

func (i *instance) plan(config object) plan {
	i.h.t.Helper()
	return i.planValue(i.h.value(i.h.typeOf(i.kind), config))
}

// planDestroy plans the destruction, as Terraform does for a destroy and not for a
// replacement.
func (i *instance) planDestroy() plan {
	i.h.t.Helper()
	return i.planValue(tftypes.NewValue(i.h.typeOf(i.kind), nil))
}

func (i *instance) planValue(value tftypes.Value) plan {
	i.h.t.Helper()
	block := i.h.schema.ResourceSchemas[i.kind].Block
	proposed := proposedNewState(i.h.t, block.Attributes, i.state, value)
	resp, err := i.h.server.PlanResourceChange(i.h.t.Context(), &tfprotov6.PlanResourceChangeRequest{
		TypeName: i.kind, PriorState: i.h.dynamic(i.state), ProposedNewState: i.h.dynamic(proposed),
		Config: i.h.dynamic(value), PriorPrivate: i.private, PriorIdentity: i.identity,
	})
	if err != nil {
		i.h.t.Fatal(err)
	}
	p := plan{config: value, private: resp.PlannedPrivate, problems: resp.Diagnostics, identity: resp.PlannedIdentity}
	if resp.PlannedState != nil {
		p.value = i.h.decode(i.kind, resp.PlannedState)
	}
	for _, path := range resp.RequiresReplace {
		p.replace = append(p.replace, path.String())
	}
	return p
}

// apply plans and applies. A replacement fails the test. A tainted resource is
// destroyed first, as Terraform does.
func (i *instance) apply(config object) []*tfprotov6.Diagnostic {
	i.h.t.Helper()
	if i.tainted {
		wantNoError(i.h.t, i.read())
		wantNoError(i.h.t, i.destroy())
	}
	p := i.plan(config)
	if hasError(p.problems) {
		return p.problems
	}
	i.inPlace(p)
	return i.change(p.value, p.config, p.private)
}

// planned plans what must need no replacement.
func (i *instance) planned(config object) plan {
	i.h.t.Helper()
	p := i.plan(config)
	wantNoError(i.h.t, p.problems)
	i.inPlace(p)
	return p
}

// inPlace fails if the plan is a replacement.
func (i *instance) inPlace(p plan) {
	i.h.t.Helper()
	if !i.state.IsNull() && len(p.replace) > 0 {
		i.h.t.Fatalf("%s would be replaced for %v", i.kind, p.replace)
	}
}

// destroy destroys the resource, if it is in the state.
func (i *instance) destroy() []*tfprotov6.Diagnostic {
	i.h.t.Helper()
	if i.state.IsNull() {
		return nil
	}
	null := tftypes.NewValue(i.h.typeOf(i.kind), nil)
	return i.change(null, null, i.private)
}

func (i *instance) change(planned, config tftypes.Value, private []byte) []*tfprotov6.Diagnostic {
	i.h.t.Helper()
	resp, err := i.h.server.ApplyResourceChange(i.h.t.Context(), &tfprotov6.ApplyResourceChangeRequest{
		TypeName: i.kind, PriorState: i.h.dynamic(i.state), PlannedState: i.h.dynamic(planned), Config: i.h.dynamic(config),
		PlannedPrivate: private, PlannedIdentity: i.identity,
	})
	if err != nil {
		i.h.t.Fatal(err)
	}
	after := i.h.decode(i.kind, resp.NewState)
	i.tainted = !after.IsNull() && hasError(resp.Diagnostics) && (i.tainted || i.state.IsNull())
	if !hasError(resp.Diagnostics) {
		keepsPromises(i.h.t, i.kind, planned, after)
	}
	i.state, i.private, i.identity = after, resp.Private, resp.NewIdentity
	return resp.Diagnostics
}

// read refreshes the resource, if it is in the state.
func (i *instance) read() []*tfprotov6.Diagnostic {
	i.h.t.Helper()
	if i.state.IsNull() {
		return nil
	}
	resp, err := i.h.server.ReadResource(i.h.t.Context(), &tfprotov6.ReadResourceRequest{TypeName: i.kind, CurrentState: i.h.dynamic(i.state), Private: i.private, CurrentIdentity: i.identity})
	if err != nil {
		i.h.t.Fatal(err)
	}
	i.state, i.private, i.identity = i.h.decode(i.kind, resp.NewState), resp.Private, resp.NewIdentity
	return resp.Diagnostics
}

// imported imports a resource by its id.
func (h *harness) imported(kind, id string) (*instance, []*tfprotov6.Diagnostic) {
	h.t.Helper()
	return h.importAs(kind, &tfprotov6.ImportResourceStateRequest{TypeName: kind, ID: id})
}

// importedByIdentity imports a resource by the identity of another state.
func (h *harness) importedByIdentity(kind string, identity *tfprotov6.ResourceIdentityData) *instance {
	h.t.Helper()
	i, diags := h.importAs(kind, &tfprotov6.ImportResourceStateRequest{TypeName: kind, Identity: identity})
	wantNoError(h.t, diags)
	return i
}

func (h *harness) importAs(kind string, request *tfprotov6.ImportResourceStateRequest) (*instance, []*tfprotov6.Diagnostic) {
	h.t.Helper()
	resp, err := h.server.ImportResourceState(h.t.Context(), request)
	if err != nil {
		h.t.Fatal(err)
	}
	if hasError(resp.Diagnostics) {
		return nil, resp.Diagnostics
	}
	i := h.resource(kind)
	i.state, i.private = h.decode(kind, resp.ImportedResources[0].State), resp.ImportedResources[0].Private
	return i, i.read()
}

// settled fails unless a refresh and a second plan find nothing to do.
func (i *instance) settled(config object) {
	i.h.t.Helper()
	wantNoError(i.h.t, i.read())
	p := i.plan(config)
	wantNoError(i.h.t, p.problems)
	if diffs, err := i.state.Diff(p.value); err != nil || len(diffs) > 0 {
		i.h.t.Errorf("%s: the second plan is not empty: %v %v", i.kind, diffs, err)
	}
}

// drifted refreshes, and fails unless the plan then changes the attribute.
func (i *instance) drifted(config object, attribute string) {
	i.h.t.Helper()
	wantNoError(i.h.t, i.read())
	p := i.plan(config)
	wantNoError(i.h.t, p.problems)
	before, after := attributeOf(i.h.t, i.state, attribute), attributeOf(i.h.t, p.value, attribute)
	if before.Equal(after) {
		i.h.t.Errorf("%s: a change of %s behind our back is not seen: state has %s", i.kind, attribute, before)
	}
}

// wantNothingMade fails if a creation that failed left state.
func wantNothingMade(t *testing.T, i *instance) {
	t.Helper()
	if !i.state.IsNull() {
		t.Errorf("%s: a creation that failed left state, which a later apply or destroy acts on: %s", i.kind, i.state)
	}
}

// text is a string attribute of the state.
func (i *instance) text(name string) string {
	i.h.t.Helper()
	var s string
	if err := attributeOf(i.h.t, i.state, name).As(&s); err != nil {
		i.h.t.Fatal(err)
	}
	return s
}

func attributeOf(t *testing.T, v tftypes.Value, name string) tftypes.Value {
	t.Helper()
	if v.IsNull() {
		t.Fatalf("attribute %s of nothing", name)
	}
	var attributes map[string]tftypes.Value
	if err := v.As(&attributes); err != nil {
		t.Fatal(err)
	}
	return attributes[name]
}

func (h *harness) typeOf(kind string) tftypes.Type { return h.schema.ResourceSchemas[kind].ValueType() }

func (h *harness) encode(typ tftypes.Type, config object) *tfprotov6.DynamicValue {
	return h.dynamic(h.value(typ, config))
}

func (h *harness) dynamic(v tftypes.Value) *tfprotov6.DynamicValue {
	h.t.Helper()
	out, err := tfprotov6.NewDynamicValue(v.Type(), v)
	if err != nil {
		h.t.Fatal(err)
	}
	return &out
}

func (h *harness) decode(kind string, v *tfprotov6.DynamicValue) tftypes.Value {
	h.t.Helper()
	out, err := v.Unmarshal(h.typeOf(kind))
	if err != nil {
		h.t.Fatal(err)
	}
	return out
}

func hasError(diags []*tfprotov6.Diagnostic) bool {
	for _, d := range diags {
		if d.Severity == tfprotov6.DiagnosticSeverityError {
			return true
		}
	}
	return false
}

func wantNoError(t *testing.T, diags []*tfprotov6.Diagnostic) {
	t.Helper()
	for _, d := range diags {
		if d.Severity == tfprotov6.DiagnosticSeverityError {
			t.Fatalf("%s: %s (%v)", d.Summary, d.Detail, d.Attribute)
		}
	}
}

// wantError fails unless there is exactly one error, and it has all the parts
// in its summary, detail or path.
func wantError(t *testing.T, diags []*tfprotov6.Diagnostic, parts ...string) {
	t.Helper()
	var errors []string
	for _, d := range diags {
		if d.Severity == tfprotov6.DiagnosticSeverityError {
			errors = append(errors, d.Summary+": "+d.Detail+" ["+d.Attribute.String()+"]")
		}
	}
	if len(errors) != 1 {
		t.Fatalf("%d errors, want one with %q: %s", len(errors), parts, strings.Join(errors, "\n"))
	}
	for _, part := range parts {
		if !strings.Contains(errors[0], part) {
			t.Errorf("the error lacks %q: %s", part, errors[0])
		}
	}
}
