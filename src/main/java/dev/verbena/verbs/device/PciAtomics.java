package dev.verbena.verbs.device;

import dev.verbena.internal.EnumCodec;
import dev.verbena.internal.raw.ibv_pci_atomic_caps;
import java.lang.foreign.MemorySegment;
import java.util.Set;

/**
 * The atomic operations that a device can do over PCI Express ({@code struct ibv_pci_atomic_caps}).
 *
 * @param fetchAndAdd the supported sizes of fetch-and-add
 * @param swap the supported sizes of swap
 * @param compareAndSwap the supported sizes of compare-and-swap
 */
public record PciAtomics(Set<AtomicSize> fetchAndAdd, Set<AtomicSize> swap, Set<AtomicSize> compareAndSwap) {
    static PciAtomics read(MemorySegment caps) {
        return new PciAtomics(
                EnumCodec.flags(AtomicSize.class, size -> size.bit, ibv_pci_atomic_caps.fetch_add(caps)),
                EnumCodec.flags(AtomicSize.class, size -> size.bit, ibv_pci_atomic_caps.swap(caps)),
                EnumCodec.flags(AtomicSize.class, size -> size.bit, ibv_pci_atomic_caps.compare_swap(caps)));
    }
}
