package dev.verbena.verbs.device;

import dev.verbena.internal.raw.rdma_h;

/** The size of an atomic operation over PCI Express ({@code enum ibv_pci_atomic_op_size}). */
public enum AtomicSize {
    /** 4 bytes ({@code IBV_PCI_ATOMIC_OPERATION_4_BYTE_SIZE_SUP}). */
    FOUR_BYTES(rdma_h.IBV_PCI_ATOMIC_OPERATION_4_BYTE_SIZE_SUP),
    /** 8 bytes ({@code IBV_PCI_ATOMIC_OPERATION_8_BYTE_SIZE_SUP}). */
    EIGHT_BYTES(rdma_h.IBV_PCI_ATOMIC_OPERATION_8_BYTE_SIZE_SUP),
    /** 16 bytes ({@code IBV_PCI_ATOMIC_OPERATION_16_BYTE_SIZE_SUP}). */
    SIXTEEN_BYTES(rdma_h.IBV_PCI_ATOMIC_OPERATION_16_BYTE_SIZE_SUP);

    final int bit;

    AtomicSize(int bit) {
        this.bit = bit;
    }
}
