package dev.verbena.verbs;

import static org.assertj.core.api.Assertions.assertThatIllegalStateException;

import dev.verbena.VerbsArena;
import dev.verbena.support.FencedTest;
import dev.verbena.support.TestDevice;
import org.junit.jupiter.api.Test;

/** Tests parent domains that are made from parent domains. */
@FencedTest
class ParentDomainTest {
    @Test
    void closedParentDomainMakesNoParentDomain() {
        try (VerbsArena arena = VerbsArena.ofConfined()) {
            ProtectionDomain base = TestDevice.get().open(arena).allocateProtectionDomain();
            ProtectionDomain parent = base.allocateParentDomain(ParentDomainOptions.defaults());
            parent.close();
            assertThatIllegalStateException()
                    .isThrownBy(() -> parent.allocateParentDomain(ParentDomainOptions.defaults()))
                    .withMessageContaining("is closed");
        }
    }
}
