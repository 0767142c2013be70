package dev.verbena.verbs;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.catchThrowableOfType;

import dev.verbena.VerbsArena;
import dev.verbena.VerbsException;
import dev.verbena.VerbsObject;
import dev.verbena.internal.Errno;
import dev.verbena.support.ArenaKind;
import dev.verbena.support.Fenced;
import dev.verbena.support.FencedTest;
import dev.verbena.support.Loopback;
import dev.verbena.support.Makers;
import dev.verbena.support.TestDevice;
import java.lang.foreign.MemorySegment;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;

/** Calls that C refuses: the exception names the function and the object, and the object is as it was. */
@FencedTest
class RefusedCallsTest {
    /** Regions have many makers, and one destroyer. */
    private static final Map<String, String> DESTROYER_OF = Map.ofEntries(
            Map.entry("ibv_open_device", "ibv_close_device"),
            Map.entry("ibv_import_device", "ibv_close_device"),
            Map.entry("ibv_alloc_pd", "ibv_dealloc_pd"),
            Map.entry("ibv_alloc_parent_domain", "ibv_dealloc_pd"),
            Map.entry("ibv_alloc_td", "ibv_dealloc_td"),
            Map.entry("ibv_create_comp_channel", "ibv_destroy_comp_channel"),
            Map.entry("ibv_create_cq", "ibv_destroy_cq"),
            Map.entry("ibv_create_cq_ex", "ibv_destroy_cq"),
            Map.entry("ibv_create_qp", "ibv_destroy_qp"),
            Map.entry("ibv_create_qp_ex", "ibv_destroy_qp"),
            Map.entry("ibv_create_srq", "ibv_destroy_srq"),
            Map.entry("ibv_create_srq_ex", "ibv_destroy_srq"),
            Map.entry("ibv_create_ah", "ibv_destroy_ah"),
            Map.entry("ibv_alloc_mw", "ibv_dealloc_mw"),
            Map.entry("ibv_alloc_dm", "ibv_free_dm"),
            Map.entry("ibv_open_xrcd", "ibv_close_xrcd"),
            Map.entry("ibv_create_wq", "ibv_destroy_wq"),
            Map.entry("ibv_create_rwq_ind_table", "ibv_destroy_rwq_ind_table"),
            Map.entry("ibv_create_flow", "ibv_destroy_flow"),
            Map.entry("ibv_create_counters", "ibv_destroy_counters"),
            Map.entry("ibv_alloc_dmah", "ibv_dealloc_dmah"),
            Map.entry("ibv_create_comp_cntr", "ibv_destroy_comp_cntr"));

    static List<Makers.Maker> allMakers() {
        return Makers.all();
    }

    @ParameterizedTest(name = "{0}")
    @MethodSource("allMakers")
    void makerThatCRefusesNamesTheFunctionAndTheDevice(Makers.Maker maker) {
        try (VerbsArena arena = VerbsArena.ofShared();
                Makers parents = new Makers()) {
            maker.make(parents, arena).close(); // makes its parents, too
            Fenced.calm();
            Fenced.fail(maker.function(), 1, Errno.EPERM);
            VerbsException refusal = catchThrowableOfType(VerbsException.class, () -> maker.make(parents, arena));
            String function = maker.function().replace("_iova2", ""); // the public name of the function
            assertThat(refusal).hasMessageStartingWith(function + "(").hasMessageContaining("): EPERM");
            assertThat(refusal.verb()).isEqualTo(function);
            if (!List.of("ibv_import_device", "ibv_reg_mr").contains(function)) { // which name something else
                assertThat(refusal).hasMessageContaining(TestDevice.get().name());
            }
        }
    }

    private interface Call {
        void run(Loopback loopback) throws Throwable;
    }

    private static Map.Entry<String, Call> call(String function, Call call) {
        return Map.entry(function, call);
    }

    static List<Map.Entry<String, Call>> calls() {
        return List.of(
                call("ibv_modify_qp", it -> it.left.pair.reset()),
                call("ibv_modify_qp", it -> it.left.pair.fail()),
                call("ibv_post_send", it -> it.left.pair.postSend(1, it.left.buffer)),
                call("ibv_post_recv", it -> it.left.pair.postReceive(1, it.left.buffer)),
                call(
                        "ibv_req_notify_cq",
                        it -> it.context
                                .createCompletionQueue(
                                        CompletionQueueOptions.of(4).channel(it.context.createCompletionChannel()))
                                .requestNotification(false)),
                call("ibv_resize_cq", it -> it.left.queue.resize(512)),
                call("ibv_query_srq", it -> shared(it).query()),
                call("ibv_modify_srq", it -> shared(it).limit(1)),
                call("ibv_post_srq_recv", it -> shared(it).postReceive(1, it.left.buffer)),
                call(
                        "ibv_memcpy_to_dm",
                        it -> it.context.allocateDeviceMemory(64).write(0, MemorySegment.ofArray(new byte[4]))));
    }

    private static SharedReceiveQueue shared(Loopback loopback) {
        return loopback.domain.createSharedReceiveQueue(SharedReceiveQueue.basic());
    }

    @ParameterizedTest
    @MethodSource("calls")
    void callThatCRefusesNamesTheFunctionAndTheDevice(Map.Entry<String, Call> call) {
        for (ArenaKind kind : ArenaKind.values()) {
            assertRefused(call, Loopback.connected(kind.make(), QueuePairAttributes.none()));
        }
    }

    private static void assertRefused(Map.Entry<String, Call> call, Loopback connected) {
        try (Loopback loopback = connected) {
            Fenced.fail(call.getKey(), 1, Errno.EPERM);
            VerbsException refusal = catchThrowableOfType(
                    VerbsException.class, () -> call.getValue().run(loopback));
            Fenced.calm();
            assertThat(refusal)
                    .hasMessageStartingWith(call.getKey() + "(")
                    .hasMessageContaining("): EPERM")
                    .hasMessageContaining(TestDevice.get().name());
            assertThat(refusal.verb()).isEqualTo(call.getKey());
        }
    }

    /** Imported objects but contexts, and buffers of the driver, are given back by functions without a result. */
    static List<Makers.Maker> makers() {
        return Makers.all().stream()
                .filter(maker ->
                        !maker.name().startsWith("imported") || maker.name().endsWith("context"))
                .filter(maker -> !maker.function().equals("ibv_alloc_buf"))
                .toList();
    }

    @ParameterizedTest(name = "{0}")
    @MethodSource("makers")
    void closeThatCRefusesNamesTheFunctionAndTheObject(Makers.Maker maker) {
        try (VerbsArena arena = VerbsArena.ofShared();
                Makers parents = new Makers()) {
            VerbsObject object = maker.make(parents, arena);
            Fenced.fail("ibv_dereg_mr", 1, Errno.EBUSY);
            DESTROYER_OF.values().forEach(function -> Fenced.fail(function, 1, Errno.EBUSY));
            VerbsException refusal = catchThrowableOfType(VerbsException.class, object::close);
            Fenced.calm();
            assertThat(refusal.verb()).isEqualTo(DESTROYER_OF.getOrDefault(maker.function(), "ibv_dereg_mr"));
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
}
