package dev.verbena.tools.shell;

import static org.assertj.core.api.Assertions.assertThat;

import dev.verbena.support.Await;
import dev.verbena.support.ChildJvm;
import dev.verbena.support.Loopback;
import java.io.IOException;
import java.io.InputStreamReader;
import java.io.Reader;
import java.io.UncheckedIOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.concurrent.TimeUnit;
import java.util.regex.Pattern;
import java.util.stream.Stream;
import jdk.jshell.spi.ExecutionControlProvider;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** A session of JShell's tool on a terminal, whose snippets an agent runs in another process, as for a guest. */
class ShellOnTerminalTest {
    private static final String PROMPT = "jshell> ";

    @TempDir
    Path folder;

    private final StringBuffer shown = new StringBuffer();
    private Process session;

    /** What has been shown before the last keys. */
    private int seen;

    @BeforeEach
    void startSession() throws IOException {
        ChildJvm.countStart();
        ChildJvm.countStart(); // the agent
        Path services = Files.createDirectories(folder.resolve("META-INF/services"));
        Files.writeString(
                services.resolve(ExecutionControlProvider.class.getName()), GuestExecution.class.getName() + "\n");
        String java = Path.of(System.getProperty("java.home"), "bin", "java").toString();
        String classes = folder + ":" + ChildJvm.classPath();
        List<String> fast =
                List.of("-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1", "--enable-native-access=ALL-UNNAMED");
        // In a session of its own, as by scripts/jshell: otherwise the terminal's Ctrl-C would end it.
        String agent = String.join(
                "\t", List.of("setsid", java, String.join("\t", fast), "-cp", classes, Agent.class.getName()));
        String tool = String.join(
                " ",
                "exec",
                java,
                String.join(" ", fast),
                "-Djava.util.prefs.userRoot=" + folder, // where the tool keeps lines of earlier sessions
                "-Djava.util.logging.config.file=/dev/null",
                "'-D" + GuestExecution.COMMAND + "=" + agent + "'",
                "-cp",
                classes,
                "-m jdk.jshell/jdk.internal.jshell.tool.JShellToolProvider --execution guest",
                "--startup src/tools/jshell/startup.jsh");
        ProcessBuilder builder = new ProcessBuilder("script", "-qefc", "stty rows 40 cols 150; " + tool, "/dev/null")
                .redirectErrorStream(true);
        builder.environment().put("TERM", "xterm");
        builder.environment().remove("JDK_JAVA_OPTIONS");
        session = builder.start();
        Thread.ofPlatform().daemon().name("terminal").start(this::show);
        awaitShown(PROMPT);
    }

    @AfterEach
    void endSession() {
        List<ProcessHandle> all = Stream.concat(Stream.of(session.toHandle()), session.descendants())
                .toList();
        all.forEach(ProcessHandle::destroyForcibly);
        Await.until("the end of the session", () -> all.stream().noneMatch(ProcessHandle::isAlive));
    }

    private void show() {
        try (Reader output = new InputStreamReader(session.getInputStream(), StandardCharsets.UTF_8)) {
            char[] part = new char[1024];
            for (int count = output.read(part); count >= 0; count = output.read(part)) {
                shown.append(part, 0, count);
            }
        } catch (IOException ended) {
            throw new UncheckedIOException(ended);
        }
    }

    private void type(String keys) throws IOException {
        seen = shown.length();
        session.getOutputStream().write(keys.getBytes(StandardCharsets.UTF_8));
        session.getOutputStream().flush();
    }

    /** Waits for text behind the last keys, without what a terminal does not show. */
    private void awaitShown(String text) {
        try {
            Await.until(text, () -> screen().contains(text));
        } catch (AssertionError late) {
            throw new AssertionError("not on the terminal: " + text + "\n" + screen(), late);
        }
    }

    private String screen() {
        return Pattern.compile("\u001b(\\[[0-9;?]*[a-zA-Z]|[=>])|\r")
                .matcher(shown.substring(seen))
                .replaceAll("");
    }

    @Test
    void tabCompletesNamesOfTheLibrary() throws IOException {
        type("Duration time = Duration.ofSeconds(3)\r");
        awaitShown("time ==> PT3S");
        type("Gid.par\t");
        awaitShown("Gid.parse(");
        type("\"::1\").isIpv4Mapped()\r");
        awaitShown("==> false");
    }

    /** The library's classes have no sources here: of a method, the tool shows the form. */
    @Test
    void tabsShowHowAMethodIsCalled() throws IOException {
        type("Device.named(\t");
        awaitShown("Device Device.named(String");
    }

    @Test
    void ctrlCEndsTheSnippetThatRuns() throws IOException {
        type("while (true) { Thread.sleep(1); System.out.print(\"r\" + \"uns\"); }\r");
        awaitShown("runs");
        type("\u0003");
        awaitShown(PROMPT);
        type("40 + 2\r");
        awaitShown("==> 42");
    }

    @Test
    void snippetReadsALineOfTheTerminal() throws IOException {
        type("System.out.print(\"as\" + \"ks\"); \"key \" + (char) System.in.read()\r");
        awaitShown("asks");
        type("x\r");
        awaitShown("==> \"key x\"");
    }

    @Test
    void arrowBringsBackTheLastLine() throws IOException {
        type("\"a\" + 1\r");
        awaitShown("$1 ==> \"a1\"");
        Await.until("the next prompt", () -> screen().endsWith(PROMPT));
        type("\u001bOA\r"); // what the terminal sends after the tool has asked for it
        awaitShown("$2 ==> \"a1\"");
    }

    @Test
    void exitEndsShellAndAgent() throws Exception {
        type("ProcessHandle.current().pid() + 0\r");
        awaitShown("==> ");
        List<ProcessHandle> all = session.descendants().toList();
        assertThat(all).hasSizeGreaterThanOrEqualTo(2);
        type("/exit 7\r");
        assertThat(session.waitFor(Loopback.DEADLINE.toSeconds(), TimeUnit.SECONDS))
                .isTrue();
        assertThat(session.exitValue()).isEqualTo(7);
        Await.until("the end of the agent", () -> all.stream().noneMatch(ProcessHandle::isAlive));
    }
}
