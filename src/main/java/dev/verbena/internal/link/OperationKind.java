package dev.verbena.internal.link;

/** An operation on the memory of a peer. */
public enum OperationKind {
    READ,
    WRITE,
    FETCH_AND_ADD,
    COMPARE_AND_SWAP;

    /** Returns true if the operation changes a number of 8 bytes. */
    public boolean isAtomic() {
        return this == FETCH_AND_ADD || this == COMPARE_AND_SWAP;
    }
}
