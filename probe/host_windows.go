package probe

import (
	"errors"
	"fmt"
	"runtime"
	"time"

	"golang.org/x/sys/windows"
	"golang.org/x/sys/windows/registry"
)

// Host implements System.
func (s *windowsSystem) Host() Host {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.boot.Known {
		s.boot = bootID()
	}
	if !s.machine.ID.Known {
		s.machine = libraryMachine(`HKLM\SOFTWARE\Microsoft\Cryptography\MachineGuid`,
			parseMachineGUID)
	}
	h := Host{
		OS:      runtime.GOOS,
		Kernel:  kernelVersion(),
		Boot:    Boot{ID: s.boot, StartedAt: bootStartedAt()},
		Machine: s.machine,
		Namespaces: Namespaces{
			PID:        Unknown[uint64]("", errNotHere),
			Time:       Unknown[uint64]("", errNotHere),
			PIDInitial: outsideContainers(),
		},
		ProcFS: Unknown[string]("", errNotHere),
	}
	h.Machine.Host = hostName()
	return h
}

func kernelVersion() Fact[string] {
	v := windows.RtlGetVersion() // not what a manifest makes of it
	return Known(fmt.Sprintf("%d.%d.%d", v.MajorVersion, v.MinorVersion, v.BuildNumber),
		"RtlGetVersion()")
}

// bootID identifies the run of the kernel, unless this process runs in a Windows container: that
// one shows only its own processes, so that the same kernel has other process numbers outside.
func bootID() Fact[string] {
	const source = "NtQuerySystemInformation(SystemTimeOfDayInformation)"
	if outside := outsideContainers(); !outside.Known {
		return Unknown[string](source, outside.Err)
	} else if !outside.Value {
		return Unknown[string](source, fmt.Errorf(
			"%w: in a Windows container, which hides the processes outside", ErrNotGenuine))
	}
	var first string
	for range 2 { // once more, for the clock may be set between the kernel's two stores
		b, err := ntTimeOfDay()
		if err != nil {
			return Unknown[string](source, err)
		}
		id, err := parseNTBoot(b)
		if err != nil {
			return Unknown[string](source, err)
		}
		if first == "" {
			first = id
		} else if id != first {
			return Unknown[string](source, fmt.Errorf("%w: it changes with every reading",
				ErrNotGenuine))
		}
	}
	return Known(first, source)
}

// outsideContainers is false in a Windows container, whose base images have this value. Process
// numbers mean the same to all that are outside.
func outsideContainers() Fact[bool] {
	const key = `SYSTEM\CurrentControlSet\Control`
	const source = `HKLM\` + key + `\ContainerType`
	k, err := registry.OpenKey(registry.LOCAL_MACHINE, key, registry.QUERY_VALUE)
	if err != nil {
		return Unknown[bool](source, err)
	}
	defer k.Close()
	switch _, _, err := k.GetValue("ContainerType", nil); {
	case err == nil || errors.Is(err, registry.ErrShortBuffer):
		return Known(false, source)
	case errors.Is(err, registry.ErrNotExist):
		return Known(true, source)
	default:
		return Unknown[bool](source, err)
	}
}

// bootStartedAt is computed as record-v2 peers do, from the clock and the time since the boot.
func bootStartedAt() Fact[time.Time] {
	boot := time.Now().Add(-windows.DurationSinceBoot())
	return Known(boot.Truncate(time.Millisecond), "GetTickCount64()")
}
