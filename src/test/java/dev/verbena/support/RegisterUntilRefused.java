package dev.verbena.support;

import dev.verbena.VerbsArena;
import dev.verbena.VerbsException;
import dev.verbena.verbs.AccessFlag;
import dev.verbena.verbs.ProtectionDomain;

/** A program for {@link ChildJvm}: registers larger and larger memory until it is refused, and prints the message. */
public final class RegisterUntilRefused {
    private RegisterUntilRefused() {}

    public static void main(String[] args) {
        try (VerbsArena arena = VerbsArena.ofConfined()) {
            ProtectionDomain domain = TestDevice.get().open(arena).allocateProtectionDomain();
            for (long size = 4096; size <= 64 << 20; size *= 4) {
                try {
                    domain.register(arena.allocate(size, 4096), AccessFlag.LOCAL_WRITE);
                } catch (VerbsException e) {
                    System.out.println("refused: " + e.getMessage());
                    return;
                }
            }
            System.out.println("nothing was refused");
        }
    }
}
