package dev.verbena.tools.device;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.verbena.tools.page.Json;
import java.io.BufferedOutputStream;
import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.io.PrintStream;
import java.io.UncheckedIOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Collection;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.stream.Collectors;
import org.assertj.core.api.InstanceOfAssertFactories;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** Shows made-up devices, whose counters grow at each pause. */
class TopTest {
    /** The output of {@code rdma -j resource show} of iproute2 6.1, shortened. */
    private static final Map<String, String> RESOURCES = Map.of("qp", """
            [{"ifindex":0,"ifname":"rxe0","lqpn":17,"rqpn":0,"type":"RC","state":"RESET","pdn":3,"pid":173,"comm":"java"},
             {"ifindex":0,"ifname":"rxe0","port":1,"lqpn":17,"rqpn":18,"type":"RC","state":"RTS","pid":173,"comm":"java"},
             {"ifindex":0,"ifname":"rxe0","port":1,"lqpn":18,"type":"RC","state":"INIT","pid":174,"comm":"worker"},
             {"ifindex":0,"ifname":"rxe0","port":1,"lqpn":1,"type":"GSI","state":"RTS","sq-psn":0,"comm":"ib_core"}]
            """, "mr", """
            [{"ifname":"rxe0","mrn":0,"rkey":"0","lkey":"275","mrlen":4096,"pdn":3,"pid":173,"comm":"java"},
             {"ifname":"rxe0","mrn":1,"mrlen":96000,"pid":173,"comm":"java"}]
            """, "pd", "[]", "cm_id", """
            [{"ifname":"mlx5_0","port":1,"cm-idn":0,"state":"LISTEN","pid":165,"comm":"rp\\u001b[2Jing"}]
            """);

    private final SysfsTree sysfs;

    private final SysfsTree proc;

    TopTest(@TempDir Path folder) {
        proc = new SysfsTree(folder.resolve("proc"))
                .with("174/status", "Name:\tworker\nTgid:\t173\nPid:\t174")
                .with("173/comm", "java");
        sysfs = new SysfsTree(folder.resolve("infiniband"))
                .with("rxe0/ports/1/state", "4: ACTIVE")
                .with("rxe0/ports/1/rate", "2.5 Gb/sec (1X SDR)")
                .with("rxe0/ports/1/hw_counters/sent_pkts", 1000)
                .with("rxe0/ports/1/hw_counters/send_rnr_err", 0)
                .with("rxe0/ports/1/hw_counters/rcvd_seq_err", 7)
                .with("mlx5_0/ports/1/state", "1: DOWN")
                .with("mlx5_0/ports/1/counters/port_xmit_data", 1000)
                .with("mlx5_0/ports/1/counters/port_rcv_data", 1000)
                .with("mlx5_0/ports/1/counters/link_downed", 255);
    }

    /** Surroundings with a pause of two seconds, in which something happens. */
    private static class Made implements Top.Surroundings {
        private final boolean terminal;
        private final Optional<Collection<DeviceUsers.User>> users;
        private final List<Runnable> pauses;
        private int pause;

        Made(boolean terminal, Optional<Collection<DeviceUsers.User>> users, Runnable... pauses) {
            this.terminal = terminal;
            this.users = users;
            this.pauses = List.of(pauses);
        }

        @Override
        public long nanos() {
            return pause * 2_000_000_000L;
        }

        @Override
        public void pause(Duration time) throws InterruptedException {
            if (pause == pauses.size()) {
                throw new InterruptedException("Ctrl-C");
            }
            pauses.get(pause++).run();
        }

        @Override
        public boolean isTerminal() {
            return terminal;
        }

        @Override
        public Optional<Collection<DeviceUsers.User>> users() {
            return users;
        }
    }

    private Optional<Collection<DeviceUsers.User>> users() {
        return DeviceUsers.of(kinds -> inLines(RESOURCES, kinds), proc.folder());
    }

    /** Returns JSON as the program prints it for several kinds, a line each. */
    private static String inLines(Map<String, String> resources, List<String> kinds) {
        return kinds.stream()
                .map(kind -> resources.get(kind).replace("\n", "") + "\n")
                .collect(Collectors.joining());
    }

    private String top(Made around, String... args) throws Exception {
        return sysfs.run(
                (words, out, folders) -> {
                    try {
                        return Top.run(words, out, folders, around);
                    } catch (InterruptedException stopped) {
                        return 130;
                    }
                },
                args);
    }

    private void traffic() {
        sysfs.with("rxe0/ports/1/hw_counters/sent_pkts", 3000)
                .with("rxe0/ports/1/hw_counters/send_rnr_err", 6)
                .with("mlx5_0/ports/1/counters/port_xmit_data", 250_001_000);
    }

    @Test
    void onceShowsThePortWithTroubleFirst() throws Exception {
        String shown = top(new Made(false, users(), this::traffic), "--once");
        assertThat(shown.lines().skip(1).map(String::stripTrailing))
                .containsExactly(
                        "mlx5_0 port 1  DOWN",
                        "  out 4.000 Gbit/s                    in 0.0 bit/s",
                        "  HURTS  the port is DOWN: no packet leaves or comes",
                        "         -> check the cable, the switch and the network device (ip link); 'verbena doctor' has more",
                        "  before link_downed 255 (maximum)",
                        "rxe0 port 1  ACTIVE  2.5 Gb/sec (1X SDR)",
                        "  out                  1.000 k packets/s in",
                        "  HURTS  this side had no receive for a message: send_rnr_err 3.0/s",
                        "         -> post more receives here, or handle messages faster",
                        "  before rcvd_seq_err 7",
                        "mlx5_0  rp?[2Jing[165]: 1 connection id",
                        "rxe0  ib_core (kernel): 1 queue pair (1 RTS)",
                        "rxe0  java[173]: 2 queue pairs (1 INIT, 1 RTS), 2 memory regions (100.1 kB)",
                        "");
    }

    /** Another program can take long to start. */
    @Test
    void troubleIsShownBeforeTheUsersAreAskedFor() throws Exception {
        ByteArrayOutputStream shown = new ByteArrayOutputStream();
        List<String> before = new ArrayList<>();
        Made around = new Made(false, users(), this::traffic) {
            @Override
            public Optional<Collection<DeviceUsers.User>> users() {
                before.add(shown.toString(StandardCharsets.UTF_8));
                return super.users();
            }
        };
        PrintStream buffered = new PrintStream(new BufferedOutputStream(shown, 1 << 16), false, StandardCharsets.UTF_8);
        Top.run(new String[] {"--once"}, buffered, new DeviceFolders(sysfs.folder()), around);
        assertThat(before)
                .singleElement()
                .asString()
                .contains("send_rnr_err 3.0/s")
                .doesNotContain("java[173]");
        assertThat(shown.toString(StandardCharsets.UTF_8)).contains("java[173]");
    }

    /** Surroundings whose time passes with pauses, and while the users are asked for: notes when that happens. */
    private static final class Timed extends Made {
        final List<Long> screens = new ArrayList<>();
        private final long[] users;
        private long millis;

        Timed(long[] users, Runnable... pauses) {
            super(false, Optional.empty(), pauses);
            this.users = users;
        }

        @Override
        public long nanos() {
            return millis * 1_000_000;
        }

        @Override
        public void pause(Duration time) throws InterruptedException {
            millis += time.toMillis();
            super.pause(time);
        }

        @Override
        public Optional<Collection<DeviceUsers.User>> users() {
            screens.add(millis);
            millis += users[screens.size() - 1];
            return super.users();
        }
    }

    /** The first one comes soon. To ask for the users takes a part of the next interval. */
    @Test
    void screensComeAtEachIntervalWhateverTheUsersTake() throws Exception {
        Timed around = new Timed(new long[] {300, 1500, 0}, () -> {}, () -> {}, () -> {}, () -> {}, () -> {});
        top(around, "rxe0");
        assertThat(around.screens).containsExactly(250L, 1250L, 2750L);
    }

    /** Trouble that goes on waits for the next screen. */
    @Test
    void newTroubleIsShownBeforeTheNextScreen() throws Exception {
        Timed around = new Timed(new long[] {0, 0, 0}, () -> {}, () -> {}, this::traffic, () -> {}, () -> {}, () -> {
            sysfs.with("rxe0/ports/1/hw_counters/send_rnr_err", 8);
        });
        top(around, "rxe0");
        assertThat(around.screens).containsExactly(250L, 750L);
    }

    @Test
    void topShowsEachIntervalByItselfUntilItIsInterrupted() throws Exception {
        String shown = top(
                new Made(
                        false,
                        Optional.empty(),
                        this::traffic,
                        () -> sysfs.with("rxe0/ports/1/hw_counters/send_rnr_err", 8)),
                "rxe0");
        assertThat(shown.lines().filter(line -> line.contains("send_rnr_err")))
                .containsExactly(
                        "  HURTS  this side had no receive for a message: send_rnr_err 3.0/s",
                        "  HURTS  this side had no receive for a message: send_rnr_err 1.0/s");
        assertThat(shown).contains("users unknown: there is no program 'rdma'").doesNotContain("mlx5_0", "\u001b");
    }

    @Test
    void topClearsATerminal() throws Exception {
        assertThat(top(new Made(true, Optional.empty(), () -> {}), "rxe0")).startsWith("\u001b[H\u001b[2J2");
        assertThat(top(new Made(true, Optional.empty(), () -> {}), "rxe0", "--once"))
                .doesNotContain("\u001b");
    }

    @Test
    void topTakesACounterThatFellForNoTrouble() throws Exception {
        String shown = top(
                new Made(false, Optional.empty(), () -> sysfs.with("rxe0/ports/1/hw_counters/rcvd_seq_err", 2)),
                "--once",
                "rxe0");
        assertThat(shown).doesNotContain("HURTS", "rcvd_seq_err -");
    }

    @Test
    void jsonHasRatesTroublesAndUsers() throws Exception {
        String json = top(new Made(true, users(), this::traffic), "--once", "--json", "rxe0:1");
        assertThat(Json.read(json))
                .asInstanceOf(InstanceOfAssertFactories.MAP)
                .containsEntry("seconds", 2.0)
                .containsEntry(
                        "ports",
                        List.of(Map.of(
                                "device",
                                "rxe0",
                                "port",
                                1L,
                                "state",
                                "ACTIVE",
                                "rate",
                                "2.5 Gb/sec (1X SDR)",
                                "perSecond",
                                Map.of("packetsOut", 1000.0),
                                "troubles",
                                List.of(Map.of(
                                        "trouble",
                                        "NO_RECEIVE_HERE",
                                        "meaning",
                                        "this side had no receive for a message",
                                        "perSecond",
                                        Map.of("send_rnr_err", 3.0))),
                                "stuck",
                                List.of())));
        assertThat(json)
                .contains("\"registeredBytes\": 100096", "\"RTS\": 1", "\"name\": \"ib_core\"")
                .doesNotContain("mlx5_0");
    }

    @Test
    void jsonWithoutTheProgramHasNoUsers() throws Exception {
        assertThat(top(new Made(false, Optional.empty(), () -> {}), "--once", "--json"))
                .doesNotContain("users");
    }

    @Test
    void topNeedsADevice() {
        assertThatThrownBy(() -> top(new Made(false, Optional.empty()), "nosuch0"))
                .hasMessage("no port 'nosuch0', there are the devices mlx5_0, rxe0");
    }

    /** A node registers memory on a thread that ends. The kernel forgets who that was. */
    @Test
    void memoryOfAThreadThatHasEndedBelongsToTheProcessOfItsProtectionDomain() {
        Map<String, String> resources = Map.of("pd", """
                [{"ifname":"rxe0","pdn":4,"local_dma_lkey":"0x0","users":2,"pid":174,"comm":"worker"}]
                """, "mr", """
                [{"ifname":"rxe0","mrn":5,"mrlen":1000,"pdn":4},
                 {"ifname":"rxe0","mrn":6,"mrlen":2000,"pdn":5},
                 {"ifname":"mlx5_0","mrn":7,"mrlen":3000,"pdn":4}]
                """, "qp", "[]", "cm_id", "[]");
        assertThat(DeviceUsers.of(kinds -> inLines(resources, kinds), proc.folder()))
                .hasValueSatisfying(users -> assertThat(users)
                        .extracting(user -> user.device() + "  " + user)
                        .containsExactly(
                                "mlx5_0  a thread that has ended: 1 memory region (3.000 kB)",
                                "rxe0  a thread that has ended: 1 memory region (2.000 kB)",
                                "rxe0  java[173]: 1 memory region (1.000 kB)"));
    }

    /** A release that prints JSON in several lines is asked for one kind after the other. */
    @Test
    void usersAreThoseOfEachKindAlone() {
        List<List<String>> asked = new ArrayList<>();
        assertThat(DeviceUsers.of(
                        kinds -> {
                            asked.add(kinds);
                            return kinds.stream().map(RESOURCES::get).collect(Collectors.joining());
                        },
                        proc.folder()))
                .hasValueSatisfying(users ->
                        assertThat(users).hasToString(users().orElseThrow().toString()));
        assertThat(asked)
                .containsExactly(
                        List.of("pd", "qp", "mr", "cm_id"),
                        List.of("pd"),
                        List.of("qp"),
                        List.of("mr"),
                        List.of("cm_id"));
    }

    @Test
    void usersAreUnknownWithoutTheProgramOrWithAnotherOne() {
        assertThat(DeviceUsers.of(
                        kind -> {
                            throw new UncheckedIOException(new IOException("no such program"));
                        },
                        proc.folder()))
                .isEmpty();
        assertThat(DeviceUsers.of(kind -> "usage: rdma [FILE]", proc.folder())).isEmpty();
        assertThat(DeviceUsers.of(kind -> "", proc.folder()))
                .hasValueSatisfying(users -> assertThat(users).isEmpty());
    }
}
