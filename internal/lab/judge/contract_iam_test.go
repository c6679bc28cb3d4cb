//go:build lab

package judge

import (
	"context"
	"net/url"
	"slices"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/iam"
	"github.com/aws/aws-sdk-go-v2/service/iam/types"
	"github.com/aws/aws-sdk-go-v2/service/sts"
)

const (
	readOnly      = `{"Version":"2012-10-17","Statement":[{"Effect":"Allow","Action":"ec2:DescribeSubnets","Resource":"*"}]}`
	anyone        = `{"Version":"2012-10-17","Statement":[{"Effect":"Allow","Principal":{"AWS":"arn:aws:iam::123456789012:root"},"Action":"sts:AssumeRole"}]}`
	workerPolicy  = "arn:aws:iam::aws:policy/AmazonEKSWorkerNodePolicy"
	unknownPolicy = "arn:aws:iam::aws:policy/NoSuchPolicy"
)

func iamTags(pairs ...string) []types.Tag {
	var out []types.Tag
	for i := 0; i < len(pairs); i += 2 {
		out = append(out, types.Tag{Key: &pairs[i], Value: &pairs[i+1]})
	}
	return out
}

func iamTagMap(tags []types.Tag) map[string]string {
	out := map[string]string{}
	for _, t := range tags {
		out[*t.Key] = *t.Value
	}
	return out
}

func (w *world) createRole(ctx context.Context, name, trust string) (*iam.CreateRoleOutput, error) {
	return w.iam.CreateRole(ctx, &iam.CreateRoleInput{RoleName: &name, AssumeRolePolicyDocument: &trust})
}

func (w *world) createProfile(ctx context.Context, name string) (*iam.CreateInstanceProfileOutput, error) {
	return w.iam.CreateInstanceProfile(ctx, &iam.CreateInstanceProfileInput{InstanceProfileName: &name})
}

func roleContracts() []contract {
	return []contract{
		{
			name: "role: read as it was made, its trust policy escaped",
			run: func(ctx context.Context, w *world) facts {
				need(w.iam.CreateRole(ctx, &iam.CreateRoleInput{
					RoleName: aws.String("role-read"), Path: aws.String("/team/"), Description: aws.String("nodes"), AssumeRolePolicyDocument: aws.String(ec2Trust), MaxSessionDuration: aws.Int32(7200), Tags: iamTags("a", "1"),
				}))
				r := need(w.iam.GetRole(ctx, &iam.GetRoleInput{RoleName: aws.String("role-read")})).Role
				return facts{
					"arn": *r.Arn, "path": *r.Path, "description": *r.Description, "id": (*r.RoleId)[:4], "session": *r.MaxSessionDuration, "tags": iamTagMap(r.Tags),
					"trust": need(url.QueryUnescape(*r.AssumeRolePolicyDocument)), "dated": r.CreateDate != nil,
				}
			},
			want: facts{
				"arn": "arn:aws:iam::123456789012:role/team/role-read", "path": "/team/", "description": "nodes", "id": "AROA", "session": int32(7200), "tags": map[string]string{"a": "1"},
				"trust": ec2Trust, "dated": true,
			},
		},
		{
			name: "role: a name is used once",
			run: func(ctx context.Context, w *world) facts {
				need(w.createRole(ctx, "role-twice", ec2Trust))
				return facts{"again": errorOf(w.createRole(ctx, "role-twice", ec2Trust))}
			},
			want: facts{"again": "EntityAlreadyExists"},
		},
		{
			name: "role: trust policies that cannot be read are refused",
			run: func(ctx context.Context, w *world) facts {
				return facts{
					"no JSON":      errorOf(w.createRole(ctx, "role-bad-a", "nonsense")),
					"no principal": errorOf(w.createRole(ctx, "role-bad-b", `{"Version":"2012-10-17","Statement":[{"Effect":"Allow","Action":"sts:AssumeRole"}]}`)),
					"resource":     errorOf(w.createRole(ctx, "role-bad-c", `{"Version":"2012-10-17","Statement":[{"Effect":"Allow","Principal":{"Service":"ec2.amazonaws.com"},"Action":"sts:AssumeRole","Resource":"*"}]}`)),
				}
			},
			want:      facts{"no JSON": "MalformedPolicyDocument", "no principal": "MalformedPolicyDocument", "resource": "MalformedPolicyDocument"},
			notOnMoto: "it takes any text as the trust policy of a new role",
		},
		{
			name: "role: changed trust policies that cannot be read are refused",
			run: func(ctx context.Context, w *world) facts {
				need(w.createRole(ctx, "role-malformed", ec2Trust))
				update := func(document string) string {
					return errorOf(w.iam.UpdateAssumeRolePolicy(ctx, &iam.UpdateAssumeRolePolicyInput{RoleName: aws.String("role-malformed"), PolicyDocument: &document}))
				}
				return facts{
					"no JSON": update("nonsense"), "no statement": update(`{"Version":"2012-10-17"}`),
					"resource": update(`{"Version":"2012-10-17","Statement":[{"Effect":"Allow","Principal":{"Service":"ec2.amazonaws.com"},"Action":"sts:AssumeRole","Resource":"*"}]}`),
				}
			},
			want: facts{"no JSON": "MalformedPolicyDocument", "no statement": "MalformedPolicyDocument", "resource": "MalformedPolicyDocument"},
		},
		{
			name: "role: what is not there is named so",
			run: func(ctx context.Context, w *world) facts {
				none := aws.String("role-none")
				return facts{
					"get":    errorOf(w.iam.GetRole(ctx, &iam.GetRoleInput{RoleName: none})),
					"delete": errorOf(w.iam.DeleteRole(ctx, &iam.DeleteRoleInput{RoleName: none})),
					"attach": errorOf(w.iam.AttachRolePolicy(ctx, &iam.AttachRolePolicyInput{RoleName: none, PolicyArn: aws.String(workerPolicy)})),
					"put":    errorOf(w.iam.PutRolePolicy(ctx, &iam.PutRolePolicyInput{RoleName: none, PolicyName: aws.String("p"), PolicyDocument: aws.String(readOnly)})),
					"list":   errorOf(w.iam.ListRolePolicies(ctx, &iam.ListRolePoliciesInput{RoleName: none})),
				}
			},
			want: facts{"get": "NoSuchEntity", "delete": "NoSuchEntity", "attach": "NoSuchEntity", "put": "NoSuchEntity", "list": "NoSuchEntity"},
		},
		{
			name: "role: updated description, session and trust policy",
			run: func(ctx context.Context, w *world) facts {
				name := aws.String("role-update")
				need(w.createRole(ctx, *name, ec2Trust))
				need(w.iam.UpdateRole(ctx, &iam.UpdateRoleInput{RoleName: name, Description: aws.String("new"), MaxSessionDuration: aws.Int32(3600)}))
				need(w.iam.UpdateAssumeRolePolicy(ctx, &iam.UpdateAssumeRolePolicyInput{RoleName: name, PolicyDocument: aws.String(anyone)}))
				r := need(w.iam.GetRole(ctx, &iam.GetRoleInput{RoleName: name})).Role
				return facts{"description": *r.Description, "session": *r.MaxSessionDuration, "trust": need(url.QueryUnescape(*r.AssumeRolePolicyDocument)) == anyone}
			},
			want: facts{"description": "new", "session": int32(3600), "trust": true},
		},
		{
			name: "role: inline policies are put, read, listed and deleted",
			run: func(ctx context.Context, w *world) facts {
				name, inline := aws.String("role-inline"), aws.String("extra")
				need(w.createRole(ctx, *name, ec2Trust))
				put := func(document string) string {
					return errorOf(w.iam.PutRolePolicy(ctx, &iam.PutRolePolicyInput{RoleName: name, PolicyName: inline, PolicyDocument: &document}))
				}
				bad, put1 := put("nonsense"), put(readOnly)
				got := need(w.iam.GetRolePolicy(ctx, &iam.GetRolePolicyInput{RoleName: name, PolicyName: inline}))
				listed := need(w.iam.ListRolePolicies(ctx, &iam.ListRolePoliciesInput{RoleName: name})).PolicyNames
				held := errorOf(w.iam.DeleteRole(ctx, &iam.DeleteRoleInput{RoleName: name}))
				need(w.iam.DeleteRolePolicy(ctx, &iam.DeleteRolePolicyInput{RoleName: name, PolicyName: inline}))
				return facts{
					"bad": bad, "put": put1, "document": need(url.QueryUnescape(*got.PolicyDocument)) == readOnly, "listed": listed, "held": held,
					"gone":  errorOf(w.iam.GetRolePolicy(ctx, &iam.GetRolePolicyInput{RoleName: name, PolicyName: inline})),
					"again": errorOf(w.iam.DeleteRolePolicy(ctx, &iam.DeleteRolePolicyInput{RoleName: name, PolicyName: inline})),
				}
			},
			want: facts{"bad": "MalformedPolicyDocument", "put": "none", "document": true, "listed": []string{"extra"}, "held": "DeleteConflict", "gone": "NoSuchEntity", "again": "NoSuchEntity"},
		},
		{
			name: "role: managed policies are attached once, and hold the role",
			run: func(ctx context.Context, w *world) facts {
				name := aws.String("role-managed")
				need(w.createRole(ctx, *name, ec2Trust))
				attach := func(arn string) string {
					return errorOf(w.iam.AttachRolePolicy(ctx, &iam.AttachRolePolicyInput{RoleName: name, PolicyArn: &arn}))
				}
				first, again, unknown := attach(workerPolicy), attach(workerPolicy), attach(unknownPolicy)
				listed := need(w.iam.ListAttachedRolePolicies(ctx, &iam.ListAttachedRolePoliciesInput{RoleName: name})).AttachedPolicies
				held := errorOf(w.iam.DeleteRole(ctx, &iam.DeleteRoleInput{RoleName: name}))
				need(w.iam.DetachRolePolicy(ctx, &iam.DetachRolePolicyInput{RoleName: name, PolicyArn: aws.String(workerPolicy)}))
				return facts{
					"first": first, "again": again, "unknown": unknown, "listed": sortedBy(listed, func(p types.AttachedPolicy) string { return *p.PolicyName + " " + *p.PolicyArn }), "held": held,
					"detached": errorOf(w.iam.DetachRolePolicy(ctx, &iam.DetachRolePolicyInput{RoleName: name, PolicyArn: aws.String(workerPolicy)})),
					"deleted":  errorOf(w.iam.DeleteRole(ctx, &iam.DeleteRoleInput{RoleName: name})), "gone": errorOf(w.iam.GetRole(ctx, &iam.GetRoleInput{RoleName: name})),
				}
			},
			want: facts{
				"first": "none", "again": "none", "unknown": "NoSuchEntity", "listed": []string{"AmazonEKSWorkerNodePolicy " + workerPolicy}, "held": "DeleteConflict",
				"detached": "NoSuchEntity", "deleted": "none", "gone": "NoSuchEntity",
			},
		},
		{
			name: "role: tags are set, replaced and removed",
			run: func(ctx context.Context, w *world) facts {
				name := aws.String("role-tags")
				need(w.createRole(ctx, *name, ec2Trust))
				need(w.iam.TagRole(ctx, &iam.TagRoleInput{RoleName: name, Tags: iamTags("a", "1", "b", "2")}))
				need(w.iam.TagRole(ctx, &iam.TagRoleInput{RoleName: name, Tags: iamTags("a", "9")}))
				need(w.iam.UntagRole(ctx, &iam.UntagRoleInput{RoleName: name, TagKeys: []string{"b", "none"}}))
				return facts{"tags": iamTagMap(need(w.iam.GetRole(ctx, &iam.GetRoleInput{RoleName: name})).Role.Tags)}
			},
			want: facts{"tags": map[string]string{"a": "9"}},
		},
		{
			name: "role: a permissions boundary is set and removed",
			run: func(ctx context.Context, w *world) facts {
				name, boundary := aws.String("role-boundary"), aws.String(workerPolicy)
				need(w.createRole(ctx, *name, ec2Trust))
				need(w.iam.PutRolePermissionsBoundary(ctx, &iam.PutRolePermissionsBoundaryInput{RoleName: name, PermissionsBoundary: boundary}))
				with := need(w.iam.GetRole(ctx, &iam.GetRoleInput{RoleName: name})).Role
				need(w.iam.DeleteRolePermissionsBoundary(ctx, &iam.DeleteRolePermissionsBoundaryInput{RoleName: name}))
				without := need(w.iam.GetRole(ctx, &iam.GetRoleInput{RoleName: name})).Role
				return facts{"type": with.PermissionsBoundary.PermissionsBoundaryType, "arn": *with.PermissionsBoundary.PermissionsBoundaryArn, "removed": without.PermissionsBoundary == nil}
			},
			want: facts{"type": types.PermissionsBoundaryAttachmentTypePolicy, "arn": workerPolicy, "removed": true},
		},
		{
			name: "role: assumed, the session is who one is",
			run: func(ctx context.Context, w *world) facts {
				role := need(w.createRole(ctx, "role-assume", anyone)).Role
				out := need(w.sts.AssumeRole(ctx, &sts.AssumeRoleInput{RoleArn: role.Arn, RoleSessionName: aws.String("test")}))
				me := need(w.sts.GetCallerIdentity(ctx, nil))
				return facts{
					"arn": *out.AssumedRoleUser.Arn, "id": strings.HasSuffix(*out.AssumedRoleUser.AssumedRoleId, ":test"), "key": (*out.Credentials.AccessKeyId)[:4],
					"token": *out.Credentials.SessionToken != "", "expires": out.Credentials.Expiration != nil, "account": *me.Account, "who": strings.HasPrefix(*me.Arn, "arn:aws:"), "user": *me.UserId != "",
				}
			},
			want: facts{
				"arn": "arn:aws:sts::123456789012:assumed-role/role-assume/test", "id": true, "key": "ASIA", "token": true, "expires": true, "account": account, "who": true, "user": true,
			},
		},
	}
}

func profileContracts() []contract {
	return []contract{
		{
			name: "instance profile: read as it was made",
			run: func(ctx context.Context, w *world) facts {
				need(w.iam.CreateInstanceProfile(ctx, &iam.CreateInstanceProfileInput{InstanceProfileName: aws.String("ip-read"), Path: aws.String("/team/"), Tags: iamTags("a", "1")}))
				p := need(w.iam.GetInstanceProfile(ctx, &iam.GetInstanceProfileInput{InstanceProfileName: aws.String("ip-read")})).InstanceProfile
				return facts{"arn": *p.Arn, "path": *p.Path, "roles": len(p.Roles), "tags": iamTagMap(p.Tags), "again": errorOf(w.createProfile(ctx, "ip-read"))}
			},
			want: facts{
				"arn": "arn:aws:iam::123456789012:instance-profile/team/ip-read", "path": "/team/", "roles": 0, "tags": map[string]string{"a": "1"}, "again": "EntityAlreadyExists",
			},
		},
		{
			name: "instance profile: takes one role, which holds both",
			run: func(ctx context.Context, w *world) facts {
				name := aws.String("ip-role")
				need(w.createRole(ctx, *name, ec2Trust))
				need(w.createProfile(ctx, *name))
				add := func(role string) string {
					return errorOf(w.iam.AddRoleToInstanceProfile(ctx, &iam.AddRoleToInstanceProfileInput{InstanceProfileName: name, RoleName: &role}))
				}
				unknown, first, second := add("ip-none"), add(*name), add(profile)
				p := need(w.iam.GetInstanceProfile(ctx, &iam.GetInstanceProfileInput{InstanceProfileName: name})).InstanceProfile
				of := need(w.iam.ListInstanceProfilesForRole(ctx, &iam.ListInstanceProfilesForRoleInput{RoleName: name})).InstanceProfiles
				got := facts{
					"unknown": unknown, "first": first, "second": second, "role": *p.Roles[0].RoleName, "roles": len(p.Roles), "of": *of[0].InstanceProfileName,
					"role held": errorOf(w.iam.DeleteRole(ctx, &iam.DeleteRoleInput{RoleName: name})), "profile held": errorOf(w.iam.DeleteInstanceProfile(ctx, &iam.DeleteInstanceProfileInput{InstanceProfileName: name})),
				}
				need(w.iam.RemoveRoleFromInstanceProfile(ctx, &iam.RemoveRoleFromInstanceProfileInput{InstanceProfileName: name, RoleName: name}))
				got["profile gone"] = errorOf(w.iam.DeleteInstanceProfile(ctx, &iam.DeleteInstanceProfileInput{InstanceProfileName: name}))
				got["role gone"] = errorOf(w.iam.DeleteRole(ctx, &iam.DeleteRoleInput{RoleName: name}))
				return got
			},
			want: facts{
				"unknown": "NoSuchEntity", "first": "none", "second": "LimitExceeded", "role": "ip-role", "roles": 1, "of": "ip-role", "role held": "DeleteConflict", "profile held": "DeleteConflict",
				"profile gone": "none", "role gone": "none",
			},
		},
		{
			name: "instance profile: a role is removed once",
			run: func(ctx context.Context, w *world) facts {
				name := aws.String("ip-remove")
				need(w.createProfile(ctx, *name))
				return facts{"code": errorOf(w.iam.RemoveRoleFromInstanceProfile(ctx, &iam.RemoveRoleFromInstanceProfileInput{InstanceProfileName: name, RoleName: aws.String(profile)}))}
			},
			want:      facts{"code": "NoSuchEntity"},
			notOnMoto: "it fails with status 500",
		},
		{
			name: "instance profile: what is not there is named so",
			run: func(ctx context.Context, w *world) facts {
				none := aws.String("ip-none")
				return facts{
					"get":    errorOf(w.iam.GetInstanceProfile(ctx, &iam.GetInstanceProfileInput{InstanceProfileName: none})),
					"delete": errorOf(w.iam.DeleteInstanceProfile(ctx, &iam.DeleteInstanceProfileInput{InstanceProfileName: none})),
					"add":    errorOf(w.iam.AddRoleToInstanceProfile(ctx, &iam.AddRoleToInstanceProfileInput{InstanceProfileName: none, RoleName: aws.String(profile)})),
				}
			},
			want: facts{"get": "NoSuchEntity", "delete": "NoSuchEntity", "add": "NoSuchEntity"},
		},
		{
			name: "instance profile: tags are set and removed",
			run: func(ctx context.Context, w *world) facts {
				name := aws.String("ip-tags")
				need(w.createProfile(ctx, *name))
				need(w.iam.TagInstanceProfile(ctx, &iam.TagInstanceProfileInput{InstanceProfileName: name, Tags: iamTags("a", "1", "b", "2")}))
				need(w.iam.UntagInstanceProfile(ctx, &iam.UntagInstanceProfileInput{InstanceProfileName: name, TagKeys: []string{"b"}}))
				p := need(w.iam.GetInstanceProfile(ctx, &iam.GetInstanceProfileInput{InstanceProfileName: name})).InstanceProfile
				return facts{"tags": iamTagMap(p.Tags)}
			},
			want: facts{"tags": map[string]string{"a": "1"}},
		},
		{
			name: "role: lists come in pages",
			run: func(ctx context.Context, w *world) facts {
				for _, name := range []string{"page-a", "page-b", "page-c", "page-d", "page-e"} {
					need(w.iam.CreateRole(ctx, &iam.CreateRoleInput{RoleName: &name, Path: aws.String("/pages/"), AssumeRolePolicyDocument: aws.String(ec2Trust)}))
				}
				var sizes []int
				var names []string
				for p := iam.NewListRolesPaginator(w.iam, &iam.ListRolesInput{PathPrefix: aws.String("/pages/"), MaxItems: aws.Int32(2)}); p.HasMorePages(); {
					page := need(p.NextPage(ctx)).Roles
					sizes = append(sizes, len(page))
					names = append(names, sortedBy(page, func(r types.Role) string { return *r.RoleName })...)
				}
				slices.Sort(names) // moto has an order of its own
				return facts{"names": names, "sizes": sizes}
			},
			want: facts{"names": []string{"page-a", "page-b", "page-c", "page-d", "page-e"}, "sizes": []int{2, 2, 1}},
		},
	}
}

func policyContracts() []contract {
	return []contract{
		{
			name: "policy: made, read and used once by name",
			run: func(ctx context.Context, w *world) facts {
				create := func(document string) (*iam.CreatePolicyOutput, error) {
					return w.iam.CreatePolicy(ctx, &iam.CreatePolicyInput{PolicyName: aws.String("policy-read"), PolicyDocument: &document, Tags: iamTags("a", "1")})
				}
				bad := errorOf(create("nonsense"))
				p := need(create(readOnly)).Policy
				got := need(w.iam.GetPolicy(ctx, &iam.GetPolicyInput{PolicyArn: p.Arn})).Policy
				v := need(w.iam.GetPolicyVersion(ctx, &iam.GetPolicyVersionInput{PolicyArn: p.Arn, VersionId: p.DefaultVersionId})).PolicyVersion
				return facts{
					"bad": bad, "arn": *p.Arn, "version": *got.DefaultVersionId, "attached": *got.AttachmentCount, "tags": iamTagMap(got.Tags),
					"document": need(url.QueryUnescape(*v.Document)) == readOnly, "again": errorOf(create(readOnly)),
				}
			},
			want: facts{
				"bad": "MalformedPolicyDocument", "arn": "arn:aws:iam::123456789012:policy/policy-read", "version": "v1", "attached": int32(0), "tags": map[string]string{"a": "1"},
				"document": true, "again": "EntityAlreadyExists",
			},
		},
		{
			name: "policy: five versions at most, the default one stays",
			run: func(ctx context.Context, w *world) facts {
				arn := need(w.iam.CreatePolicy(ctx, &iam.CreatePolicyInput{PolicyName: aws.String("policy-versions"), PolicyDocument: aws.String(readOnly)})).Policy.Arn
				version := func() string {
					return errorOf(w.iam.CreatePolicyVersion(ctx, &iam.CreatePolicyVersionInput{PolicyArn: arn, PolicyDocument: aws.String(readOnly), SetAsDefault: true}))
				}
				for range 4 {
					version()
				}
				sixth := version()
				remove := func(id string) string {
					return errorOf(w.iam.DeletePolicyVersion(ctx, &iam.DeletePolicyVersionInput{PolicyArn: arn, VersionId: &id}))
				}
				def, oldest, gone := remove("v5"), remove("v1"), remove("v1")
				left := need(w.iam.ListPolicyVersions(ctx, &iam.ListPolicyVersionsInput{PolicyArn: arn})).Versions
				return facts{
					"sixth": sixth, "default": def, "oldest": oldest, "gone": gone,
					"left": sortedBy(left, func(v types.PolicyVersion) string {
						return *v.VersionId + map[bool]string{true: "*"}[v.IsDefaultVersion]
					}),
				}
			},
			want: facts{"sixth": "LimitExceeded", "default": "DeleteConflict", "oldest": "none", "gone": "NoSuchEntity", "left": []string{"v2", "v3", "v4", "v5*"}},
		},
		{
			name: "policy: attached or with versions it stays",
			run: func(ctx context.Context, w *world) facts {
				name := aws.String("policy-attached")
				need(w.createRole(ctx, *name, ec2Trust))
				arn := need(w.iam.CreatePolicy(ctx, &iam.CreatePolicyInput{PolicyName: name, PolicyDocument: aws.String(readOnly)})).Policy.Arn
				need(w.iam.AttachRolePolicy(ctx, &iam.AttachRolePolicyInput{RoleName: name, PolicyArn: arn}))
				held := errorOf(w.iam.DeletePolicy(ctx, &iam.DeletePolicyInput{PolicyArn: arn}))
				count := *need(w.iam.GetPolicy(ctx, &iam.GetPolicyInput{PolicyArn: arn})).Policy.AttachmentCount
				need(w.iam.DetachRolePolicy(ctx, &iam.DetachRolePolicyInput{RoleName: name, PolicyArn: arn}))
				need(w.iam.CreatePolicyVersion(ctx, &iam.CreatePolicyVersionInput{PolicyArn: arn, PolicyDocument: aws.String(readOnly)}))
				versions := errorOf(w.iam.DeletePolicy(ctx, &iam.DeletePolicyInput{PolicyArn: arn}))
				need(w.iam.DeletePolicyVersion(ctx, &iam.DeletePolicyVersionInput{PolicyArn: arn, VersionId: aws.String("v2")}))
				need(w.iam.DeletePolicy(ctx, &iam.DeletePolicyInput{PolicyArn: arn}))
				return facts{"held": held, "versions": versions, "count": count, "gone": errorOf(w.iam.GetPolicy(ctx, &iam.GetPolicyInput{PolicyArn: arn})), "again": errorOf(w.iam.DeletePolicy(ctx, &iam.DeletePolicyInput{PolicyArn: arn}))}
			},
			want:      facts{"held": "DeleteConflict", "versions": "DeleteConflict", "count": int32(1), "gone": "NoSuchEntity", "again": "NoSuchEntity"},
			notOnMoto: "it deletes both",
		},
		{
			name: "policy: deleted it is gone",
			run: func(ctx context.Context, w *world) facts {
				arn := need(w.iam.CreatePolicy(ctx, &iam.CreatePolicyInput{PolicyName: aws.String("policy-gone"), PolicyDocument: aws.String(readOnly)})).Policy.Arn
				need(w.iam.DeletePolicy(ctx, &iam.DeletePolicyInput{PolicyArn: arn}))
				return facts{"get": errorOf(w.iam.GetPolicy(ctx, &iam.GetPolicyInput{PolicyArn: arn})), "again": errorOf(w.iam.DeletePolicy(ctx, &iam.DeletePolicyInput{PolicyArn: arn}))}
			},
			want: facts{"get": "NoSuchEntity", "again": "NoSuchEntity"},
		},
		{
			name: "policy: tags are set and removed",
			run: func(ctx context.Context, w *world) facts {
				arn := need(w.iam.CreatePolicy(ctx, &iam.CreatePolicyInput{PolicyName: aws.String("policy-tags"), PolicyDocument: aws.String(readOnly)})).Policy.Arn
				need(w.iam.TagPolicy(ctx, &iam.TagPolicyInput{PolicyArn: arn, Tags: iamTags("a", "1", "b", "2")}))
				need(w.iam.UntagPolicy(ctx, &iam.UntagPolicyInput{PolicyArn: arn, TagKeys: []string{"b"}}))
				return facts{"tags": iamTagMap(need(w.iam.GetPolicy(ctx, &iam.GetPolicyInput{PolicyArn: arn})).Policy.Tags)}
			},
			want: facts{"tags": map[string]string{"a": "1"}},
		},
	}
}
