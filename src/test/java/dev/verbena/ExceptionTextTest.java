package dev.verbena;

import static org.assertj.core.api.Assertions.assertThat;

import java.time.Duration;
import java.util.Collections;
import java.util.List;
import java.util.stream.IntStream;
import org.junit.jupiter.api.Test;

/** The texts and numbers of the exceptions. */
class ExceptionTextTest {
    @Test
    void verbsExceptionNamesVerbErrorAndHint() {
        VerbsException all = new VerbsException("ibv_reg_mr", "4 KiB", 12, "Try less");
        assertThat(all).hasMessage("ibv_reg_mr(4 KiB): ENOMEM (cannot allocate memory). Try less");
        assertThat(all.verb()).isEqualTo("ibv_reg_mr");
        assertThat(all.errno()).isEqualTo(12);
        assertThat(all.errnoName()).isEqualTo("ENOMEM");
        assertThat(new VerbsException("ibv_reg_mr", "4 KiB", 12, ""))
                .hasMessage("ibv_reg_mr(4 KiB): ENOMEM (cannot allocate memory)");
        assertThat(new VerbsException("ibv_reg_mr", "", 0, "Try less")).hasMessage("ibv_reg_mr(): Try less");
        assertThat(new VerbsException("ibv_reg_mr", "", 0, "")).hasMessage("ibv_reg_mr()");
    }

    @Test
    void timeoutSaysHowLongTheWaitTook() {
        VerbsTimeoutException timeout =
                new VerbsTimeoutException("ibv_poll_cq", "queue", Duration.ofMillis(1_500), "Look at the peer");
        assertThat(timeout).hasMessage("ibv_poll_cq(queue): ETIMEDOUT (timed out). Waited 1500 ms. Look at the peer");
        assertThat(timeout.errnoName()).isEqualTo("ETIMEDOUT");
        assertThat(new VerbsTimeoutException("ibv_poll_cq", "queue", Duration.ofSeconds(2), ""))
                .hasMessage("ibv_poll_cq(queue): ETIMEDOUT (timed out). Waited 2000 ms");
    }

    @Test
    void busyObjectNamesUpToFiveDependents() {
        String start = "close(domain): EBUSY (device or resource busy). Still in use by ";
        String end = " first, or close the arena that owns all of them";
        assertThat(busy(1)).hasMessage(start + "QP 1: close it" + end);
        assertThat(busy(2)).hasMessage(start + "QP 1, QP 2: close them" + end);
        assertThat(busy(5)).hasMessage(start + "QP 1, QP 2, QP 3, QP 4, QP 5: close them" + end);
        assertThat(busy(6)).hasMessage(start + "QP 1, QP 2, QP 3, QP 4, QP 5 and 1 more: close them" + end);
        assertThat(busy(9)).hasMessage(start + "QP 1, QP 2, QP 3, QP 4, QP 5 and 4 more: close them" + end);
        assertThat(busy(9).dependents()).hasSize(9).startsWith("QP 1");
        assertThat(busy(9).errnoName()).isEqualTo("EBUSY");
    }

    private static ResourceBusyException busy(int dependents) {
        List<String> names = IntStream.rangeClosed(1, dependents)
                .mapToObj(number -> "QP " + number)
                .toList();
        return new ResourceBusyException("domain", Collections.unmodifiableList(names));
    }
}
