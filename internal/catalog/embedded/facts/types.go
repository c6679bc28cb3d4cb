package facts

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/karpenterd/terraform-provider-karpenter/internal/catalog"
)

// Types is the content of types.tsv.
type Types struct {
	Sources []catalog.Source
	Facts   []catalog.Fact // sorted by name
}

// column is one cell of an instance type's line.
type column struct {
	name string
	get  func(*catalog.Fact) string
	set  func(*catalog.Fact, string) error
}

func text(name string, field func(*catalog.Fact) *string) column {
	return column{
		name: name,
		get:  func(f *catalog.Fact) string { return *field(f) },
		set:  func(f *catalog.Fact, cell string) error { *field(f) = cell; return nil },
	}
}

func number[N int | int64](name string, field func(*catalog.Fact) *N) column {
	return column{
		name: name,
		get: func(f *catalog.Fact) string {
			if *field(f) == 0 {
				return ""
			}
			return strconv.FormatInt(int64(*field(f)), 10)
		},
		set: func(f *catalog.Fact, cell string) error {
			if cell == "" {
				return nil
			}
			n, err := strconv.ParseInt(cell, 10, 64)
			*field(f) = N(n)
			return err
		},
	}
}

// flag is one word in the column "is".
type flag struct {
	word  string
	field func(*catalog.Fact) *bool
}

func flags() []flag {
	return []flag{
		{"metal", func(f *catalog.Fact) *bool { return &f.BareMetal }},
		{"burstable", func(f *catalog.Fact) *bool { return &f.Burstable }},
		{"current", func(f *catalog.Fact) *bool { return &f.CurrentGeneration }},
		{"encrypting", func(f *catalog.Fact) *bool { return &f.EncryptionInTransit }},
		{"nesting", func(f *catalog.Fact) *bool { return &f.NestedVirtualization }},
		{"sharing", func(f *catalog.Fact) *bool { return &f.SharedEBSSlots }},
	}
}

func words() column {
	all := flags()
	return column{
		name: "is",
		get: func(f *catalog.Fact) string {
			var set []string
			for _, x := range all {
				if *x.field(f) {
					set = append(set, x.word)
				}
			}
			return strings.Join(set, ",")
		},
		set: func(f *catalog.Fact, cell string) error {
			for word := range strings.SplitSeq(cell, ",") {
				i := slices.IndexFunc(all, func(x flag) bool { return x.word == word })
				if i < 0 {
					if cell == "" {
						return nil
					}
					return fmt.Errorf("unknown word %q", word)
				}
				*all[i].field(f) = true
			}
			return nil
		},
	}
}

func usage() column {
	return column{
		name: "sold",
		get:  func(f *catalog.Fact) string { return strings.Join(f.UsageClasses, ",") },
		set: func(f *catalog.Fact, cell string) error {
			if cell != "" {
				f.UsageClasses = strings.Split(cell, ",")
			}
			return nil
		},
	}
}

// columns is the schema of types.tsv. What the name says is not repeated.
func columns() []column {
	return []column{
		text("type", func(f *catalog.Fact) *string { return &f.Name }),
		text("arch", func(f *catalog.Fact) *string { return &f.Arch }),
		number("vcpu", func(f *catalog.Fact) *int { return &f.VCPU }),
		number("memory-mib", func(f *catalog.Fact) *int64 { return &f.MemoryMiB }),
		text("cpu", func(f *catalog.Fact) *string { return &f.CPUManufacturer }),
		number("mhz", func(f *catalog.Fact) *int { return &f.ClockMHz }),
		text("hypervisor", func(f *catalog.Fact) *string { return &f.Hypervisor }),
		words(),
		usage(),
		number("enis", func(f *catalog.Fact) *int { return &f.ENIs }),
		number("ips-per-eni", func(f *catalog.Fact) *int { return &f.IPv4PerENI }),
		number("branch-enis", func(f *catalog.Fact) *int { return &f.BranchENIs }),
		number("net-mbps", func(f *catalog.Fact) *int { return &f.NetworkMbps }),
		number("ebs-mbps", func(f *catalog.Fact) *int { return &f.EBSMbps }),
		number("ebs-volumes", func(f *catalog.Fact) *int { return &f.EBSVolumes }),
		number("efas", func(f *catalog.Fact) *int { return &f.EFAs }),
		number("nvme-gb", func(f *catalog.Fact) *int { return &f.NVMeGB }),
		text("gpu", func(f *catalog.Fact) *string { return &f.GPUName }),
		text("gpu-maker", func(f *catalog.Fact) *string { return &f.GPUManufacturer }),
		number("gpus", func(f *catalog.Fact) *int { return &f.GPUCount }),
		number("gpu-mib", func(f *catalog.Fact) *int64 { return &f.GPUMemoryMiB }),
		text("accelerator", func(f *catalog.Fact) *string { return &f.AcceleratorName }),
		text("accelerator-maker", func(f *catalog.Fact) *string { return &f.AcceleratorManufacturer }),
		number("accelerators", func(f *catalog.Fact) *int { return &f.AcceleratorCount }),
		number("neurons", func(f *catalog.Fact) *int { return &f.NeuronDevices }),
		number("neuron-cores", func(f *catalog.Fact) *int { return &f.NeuronCores }),
	}
}

// Encode renders the file.
func (t Types) Encode() []byte {
	var b writer
	b.sources(t.Sources)
	cols := columns()
	head := make([]string, len(cols))
	for i, c := range cols {
		head[i] = c.name
	}
	b.line(head...)
	sorted := slices.SortedFunc(slices.Values(t.Facts), func(x, y catalog.Fact) int { return strings.Compare(x.Name, y.Name) })
	cells := make([]string, len(cols))
	for _, f := range sorted {
		for i, c := range cols {
			cells[i] = c.get(&f)
		}
		b.line(cells...)
	}
	return b.bytes()
}

// DecodeTypes reads what Encode wrote.
func DecodeTypes(data []byte) (Types, error) {
	r := newReader(data)
	var t Types
	cols := columns()
	for r.next() {
		if source, ok := r.source(); ok {
			t.Sources = append(t.Sources, source)
			continue
		}
		if r.cell(0) == cols[0].name {
			continue
		}
		var f catalog.Fact
		if len(r.cells) != len(cols) {
			return Types{}, r.errorf("has %d cells, want %d", len(r.cells), len(cols))
		}
		for i, c := range cols {
			if err := c.set(&f, r.cell(i)); err != nil {
				return Types{}, r.errorf("column %s: %w", c.name, err)
			}
		}
		f.NameParts = catalog.ParseName(f.Name)
		t.Facts = append(t.Facts, f)
	}
	return t, nil
}
