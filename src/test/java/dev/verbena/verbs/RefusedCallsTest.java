package dev.verbena.verbs;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.catchThrowableOfType;

import dev.verbena.VerbsArena;
import dev.verbena.VerbsException;
import dev.verbena.VerbsObject;
import dev.verbena.internal.Errno;
import dev.verbena.support.Fenced;
import dev.verbena.support.FencedTest;
import dev.verbena.support.Makers;
import java.util.List;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;

/** Calls that C refuses: the exception names the function and the object, and the object is as it was. */
@FencedTest
class RefusedCallsTest {
    private static final List<String> DESTROYERS = List.of(
            "ibv_dealloc_pd",
            "ibv_dealloc_td",
            "ibv_dereg_mr",
            "ibv_dealloc_mw",
            "ibv_destroy_comp_channel",
            "ibv_destroy_cq",
            "ibv_destroy_qp",
            "ibv_destroy_srq",
            "ibv_destroy_ah",
            "ibv_close_device",
            "ibv_free_dm",
            "ibv_close_xrcd",
            "ibv_destroy_wq",
            "ibv_destroy_rwq_ind_table",
            "ibv_destroy_flow",
            "ibv_destroy_counters");

    /** Imported objects but contexts are given back by functions without a result. */
    static List<Makers.Maker> makers() {
        return Makers.all().stream()
                .filter(maker ->
                        !maker.name().startsWith("imported") || maker.name().endsWith("context"))
                .toList();
    }

    @ParameterizedTest(name = "{0}")
    @MethodSource("makers")
    void closeThatCRefusesNamesTheFunctionAndTheObject(Makers.Maker maker) {
        try (VerbsArena arena = VerbsArena.ofShared();
                Makers parents = new Makers()) {
            VerbsObject object = maker.make(parents, arena);
            DESTROYERS.forEach(function -> Fenced.fail(function, 1, Errno.EBUSY));
            VerbsException refusal = catchThrowableOfType(VerbsException.class, object::close);
            Fenced.calm();
            assertThat(refusal.verb()).isIn(DESTROYERS);
            assertThat(refusal)
                    .hasMessageStartingWith(refusal.verb() + "(" + nameOf(object))
                    .hasMessageContaining("): EBUSY")
                    .hasMessageNotContaining("closed");
            assertThat(object.isOpen()).isTrue();
            object.close();
        }
    }

    /** Returns the description of an object without its state. */
    private static String nameOf(VerbsObject object) {
        return object.toString().replaceAll("(:| \\().*", "");
    }

    @Test
    void listOfDevicesThatCRefusesNamesTheFunction() {
        Fenced.fail("ibv_get_device_list", 1, Errno.ENOMEM);
        assertThat(catchThrowableOfType(VerbsException.class, Device::list))
                .hasMessageStartingWith("ibv_get_device_list(): ENOMEM");
    }

    @Test
    void listOfDevicesIsEmptyWithoutRdmaInTheKernel() {
        Fenced.fail("ibv_get_device_list", 1, Errno.ENOSYS);
        assertThat(Device.list()).isEmpty();
    }
}
