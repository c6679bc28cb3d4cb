package ec2sim

import (
	"testing"
	"testing/synctest"
	"time"
)

func TestStorm_LeavesCapacityForTheKeptTypesOnly(t *testing.T) {
	c := newCloud(t)
	c.template("lt-a")
	end := c.Storm("m5.xlarge")
	if got := errorCodes(c.fleet(onDemand, "lowest-price", 1, []string{"m5.large@a"})); len(got) != 1 {
		t.Errorf("errors %v, want a lack of capacity", got)
	}
	if got := errorCodes(c.fleet(onDemand, "lowest-price", 1, []string{"m5.xlarge@a"})); len(got) != 0 {
		t.Errorf("errors %v for the kept type", got)
	}
	end()
	if got := errorCodes(c.fleet(onDemand, "lowest-price", 1, []string{"m5.large@a"})); len(got) != 0 {
		t.Errorf("errors %v after the storm", got)
	}
}

func TestSubnet_FullHasNoAddressUntilItIsGivenBack(t *testing.T) {
	c := newCloud(t)
	c.template("lt-a")
	if !c.FillSubnet(c.vpc.SubnetIDs[0], true) || c.FillSubnet("subnet-none", true) {
		t.Error("a subnet is unknown, or one is known that is not there")
	}
	if got := errorCodes(c.fleet(onDemand, "lowest-price", 1, []string{"m5.large@a"})); len(got) != 1 {
		t.Errorf("errors %v, want no address", got)
	}
	if n := do[page[subnetItem]](c, "DescribeSubnets", "SubnetId.1", c.vpc.SubnetIDs[0]).Items[0].AvailableIPs; n != 0 {
		t.Errorf("%d addresses are free", n)
	}
	c.FillSubnet(c.vpc.SubnetIDs[0], false)
	if got := errorCodes(c.fleet(onDemand, "lowest-price", 1, []string{"m5.large@a"})); len(got) != 0 {
		t.Errorf("errors %v though there are addresses again", got)
	}
}

func TestKey_RefusedEndsInstancesInsteadOfRunningThem(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newCloud(t, func(cfg *Config) { cfg.StartTime = time.Second })
		c.template("lt-a")
		c.RefuseKey(true)
		id := c.fleet(onDemand, "lowest-price", 1, []string{"m5.large@a"}).Instances[0].IDs[0]
		time.Sleep(2 * time.Second)
		synctest.Wait()
		got := do[page[reservationItem]](c, "DescribeInstances", "InstanceId.1", id).Items[0].Instances[0]
		if got.State.Name != StateTerminated || got.StateReason.Code != "Client.InvalidKMSKey.InvalidState" {
			t.Errorf("state %s because of %+v", got.State.Name, got.StateReason)
		}
	})
}

func TestStop_KeepsTheInstanceUntilItIsTerminated(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newCloud(t, func(cfg *Config) { cfg.StopTime = time.Second })
		c.template("lt-a")
		id := c.fleet(onDemand, "lowest-price", 1, []string{"m5.large@a"}).Instances[0].IDs[0]
		if err := c.Stop(id); err != nil {
			t.Fatal(err)
		}
		if got := c.Instances()[0]; got.State != StateStopping {
			t.Errorf("the instance is %s", got.State)
		}
		time.Sleep(2 * time.Second)
		synctest.Wait()
		if got := c.Instances()[0]; got.State != StateStopped || got.PrivateIP == "" {
			t.Errorf("the instance is %s with address %q", got.State, got.PrivateIP)
		}
		do[terminateAnswer](c, "TerminateInstances", "InstanceId.1", id)
		time.Sleep(2 * time.Second)
		synctest.Wait()
		if got := c.Instances()[0]; got.State != StateTerminated {
			t.Errorf("the instance is %s after TerminateInstances", got.State)
		}
	})
}

func TestLag_ChangesAreSeenWithinIt(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const lag = time.Minute
		c := newCloud(t, func(cfg *Config) { cfg.Lag = lag })
		late := 0 // of what was changed, how much is not seen yet
		c.template("lt-a")
		time.Sleep(lag)
		template := do[page[templateItem]](c, "DescribeLaunchTemplates").Items[0].ID
		c.template("lt-b")
		late += boolean(len(do[page[templateItem]](c, "DescribeLaunchTemplates").Items) < 2)
		for range 20 {
			c.fleet(onDemand, "lowest-price", 1, []string{"m5.large@a"})
		}
		shown := func() (n int) {
			for _, r := range do[page[reservationItem]](c, "DescribeInstances").Items {
				n += len(r.Instances)
			}
			return n
		}
		late += boolean(shown() < 20)
		do[done](c, "CreateTags", "ResourceId.1", template, "Tag.1.Key", "k", "Tag.1.Value", "v")
		time.Sleep(lag)
		synctest.Wait()
		if late == 0 {
			t.Error("all changes were seen at once")
		}
		if n, templates := shown(), len(do[page[templateItem]](c, "DescribeLaunchTemplates").Items); n != 20 || templates != 2 {
			t.Errorf("%d instances and %d templates are seen after the longest lag, want 20 and 2", n, templates)
		}
		if got := do[page[templateItem]](c, "DescribeLaunchTemplates", "Filter.1.Name", "tag:k", "Filter.1.Value.1", "v").Items; len(got) != 1 {
			t.Errorf("%d templates have the tag", len(got))
		}
	})
}
