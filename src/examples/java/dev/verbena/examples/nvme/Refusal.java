package dev.verbena.examples.nvme;

/** Ends the execution of a command: the host gets a status, and with Connect the position of the field that is wrong. */
@SuppressWarnings("serial") // never serialized
final class Refusal extends Exception {
    final int status, field;

    Refusal(int status, int field) {
        super("status 0x%x, field 0x%x".formatted(status, field), null, false, false);
        this.status = status;
        this.field = field;
    }

    static void unless(boolean holds, int status) throws Refusal {
        unless(holds, status, 0);
    }

    static void unless(boolean holds, int status, int field) throws Refusal {
        if (!holds) {
            throw new Refusal(status | Nvme.DO_NOT_RETRY, field);
        }
    }
}
