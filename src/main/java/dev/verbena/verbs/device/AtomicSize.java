package dev.verbena.verbs.device;

import dev.verbena.NativeFlag;

/** The size of an atomic operation over PCI Express ({@code enum ibv_pci_atomic_op_size}). */
public enum AtomicSize implements NativeFlag {
    /** 4 bytes ({@code IBV_PCI_ATOMIC_OPERATION_4_BYTE_SIZE_SUP}). */
    FOUR_BYTES(1, "IBV_PCI_ATOMIC_OPERATION_4_BYTE_SIZE_SUP"),
    /** 8 bytes ({@code IBV_PCI_ATOMIC_OPERATION_8_BYTE_SIZE_SUP}). */
    EIGHT_BYTES(1 << 1, "IBV_PCI_ATOMIC_OPERATION_8_BYTE_SIZE_SUP"),
    /** 16 bytes ({@code IBV_PCI_ATOMIC_OPERATION_16_BYTE_SIZE_SUP}). */
    SIXTEEN_BYTES(1 << 2, "IBV_PCI_ATOMIC_OPERATION_16_BYTE_SIZE_SUP");

    private final int bit;
    private final String cName;

    AtomicSize(int bit, String cName) {
        this.bit = bit;
        this.cName = cName;
    }

    @Override
    public int bit() {
        return bit;
    }

    @Override
    public String cName() {
        return cName;
    }
}
