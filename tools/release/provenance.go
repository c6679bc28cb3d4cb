package main

import (
	"errors"
	"fmt"
	"os"
	"runtime"

	slsa "github.com/in-toto/attestation/go/predicates/provenance/v1"
	intoto "github.com/in-toto/attestation/go/v1"
	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/types/known/structpb"
)

// The terms of the statement.
const (
	statementType = "https://in-toto.io/Statement/v1"
	predicateType = "https://slsa.dev/provenance/v1"
	repository    = "https://github.com/karpenterd/terraform-provider-karpenter"
	buildType     = repository + "/blob/main/.goreleaser.yml"
	byHand        = repository + "/blob/main/CONTRIBUTING.md#checklists"
)

var errNoSums = errors.New("no checksums")

// provenance says what the files of a release were built of, and where.
type provenance struct {
	version, commit, imageDigest string
	builder, invocation          string
}

// builderOf names who builds: the workflow and its run on GitHub, or somebody who goes by the
// checklist.
func builderOf(env func(string) string) (builder, invocation string) {
	if workflow := env("GITHUB_WORKFLOW_REF"); workflow != "" {
		server := env("GITHUB_SERVER_URL")
		return server + "/" + workflow, server + "/" + env("GITHUB_REPOSITORY") + "/actions/runs/" + env("GITHUB_RUN_ID") + "/attempts/" + env("GITHUB_RUN_ATTEMPT")
	}
	return byHand, ""
}

// write writes the statement about all files in the checksums. The statement is not signed.
func (p provenance) write(sums, out string) error {
	files, err := readSums(sums)
	if err != nil {
		return err
	}
	statement, err := p.statement(files)
	if err != nil {
		return err
	}
	text, err := protojson.MarshalOptions{Multiline: true}.Marshal(statement)
	if err != nil {
		return fmt.Errorf("provenance write: %w", err)
	}
	if err := os.WriteFile(out, append(text, '\n'), 0o644); err != nil { //nolint:gosec // it is published
		return fmt.Errorf("provenance write: %w", err)
	}
	return nil
}

func (p provenance) statement(files []sum) (*intoto.Statement, error) {
	if len(files) == 0 {
		return nil, errNoSums
	}
	parameters, err := structpb.NewStruct(map[string]any{"version": p.version, "configuration": ".goreleaser.yml"})
	if err != nil {
		return nil, fmt.Errorf("provenance make: %w", err)
	}
	internal, err := structpb.NewStruct(map[string]any{"go": runtime.Version()})
	if err != nil {
		return nil, fmt.Errorf("provenance make: %w", err)
	}
	made := &slsa.Provenance{
		BuildDefinition: &slsa.BuildDefinition{
			BuildType: buildType, ExternalParameters: parameters, InternalParameters: internal,
			ResolvedDependencies: []*intoto.ResourceDescriptor{
				{Uri: "git+" + repository, Digest: map[string]string{"gitCommit": p.commit}},
				{Uri: "oci://ghcr.io/karpenterd/karpenterd", Digest: map[string]string{"sha256": trimAlgorithm(p.imageDigest)}},
			},
		},
		RunDetails: &slsa.RunDetails{Builder: &slsa.Builder{Id: p.builder}, Metadata: &slsa.BuildMetadata{InvocationId: p.invocation}},
	}
	if err := made.Validate(); err != nil {
		return nil, fmt.Errorf("provenance make: %w", err)
	}
	predicate, err := asStruct(made)
	if err != nil {
		return nil, err
	}
	statement := &intoto.Statement{Type: statementType, PredicateType: predicateType, Predicate: predicate}
	for _, f := range files {
		statement.Subject = append(statement.Subject, &intoto.ResourceDescriptor{Name: f.name, Digest: map[string]string{"sha256": f.sha256}})
	}
	if err := statement.Validate(); err != nil {
		return nil, fmt.Errorf("provenance make: %w", err)
	}
	return statement, nil
}

// asStruct is the provenance in the form that a statement holds.
func asStruct(p *slsa.Provenance) (*structpb.Struct, error) {
	text, err := protojson.Marshal(p)
	if err != nil {
		return nil, fmt.Errorf("provenance make: %w", err)
	}
	out := &structpb.Struct{}
	if err := protojson.Unmarshal(text, out); err != nil {
		return nil, fmt.Errorf("provenance make: %w", err)
	}
	return out, nil
}
