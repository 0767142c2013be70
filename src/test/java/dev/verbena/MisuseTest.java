package dev.verbena;

import static org.assertj.core.api.Assertions.assertThat;

import dev.verbena.support.ChildJvm;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.stream.Stream;
import javax.tools.Diagnostic;
import javax.tools.DiagnosticCollector;
import javax.tools.JavaCompiler;
import javax.tools.JavaFileObject;
import javax.tools.StandardJavaFileManager;
import javax.tools.ToolProvider;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;

/**
 * Programs that are wrong do not compile: the types of the API keep the mistakes out. Each program compiles once one line is
 * right, so that this line alone is the error.
 */
class MisuseTest {
    /** An argument of another type, for which the compiler has three names. */
    private static final String ARGUMENT = "prob.found.req|cant.apply.symbols?";

    private static final String MISSING = "cant.resolve.location.args";

    @TempDir
    Path folder;

    /**
     * A mistake.
     *
     * @param name what it is
     * @param error a pattern for the compiler's name of the error
     * @param wrong the statement that is wrong
     * @param right what the program should say
     */
    record Mistake(String name, String error, String wrong, String right) {
        @Override
        public String toString() {
            return name;
        }
    }

    static Stream<Mistake> mistakes() {
        return Stream.of(
                new Mistake(
                        "sends memory that is not registered",
                        ARGUMENT,
                        "pair.postSend(1, arena.allocate(8));",
                        "pair.postSend(1, domain.register(arena.allocate(8)));"),
                new Mistake(
                        "writes to a region of its own as if it were the peer's",
                        ARGUMENT,
                        "pair.postWrite(1, region, region);",
                        "pair.postWrite(1, region, region.remote());"),
                new Mistake(
                        "reads into the peer's memory",
                        ARGUMENT,
                        "pair.postRead(1, remote, remote);",
                        "pair.postRead(1, region, remote);"),
                new Mistake(
                        "posts a write in a batch of receives",
                        MISSING,
                        "pair.receiveBatch(1).write(1, region, remote);",
                        "pair.sendBatch(1).write(1, region, remote);"),
                new Mistake(
                        "posts a send to a shared receive queue",
                        MISSING,
                        "shared.postSend(1, region);",
                        "shared.postReceive(1, region);"),
                new Mistake(
                        "makes a queue pair with the options of a shared receive queue",
                        ARGUMENT,
                        "domain.createQueuePair(SharedReceiveQueue.basic());",
                        "domain.createSharedReceiveQueue(SharedReceiveQueue.basic());"),
                new Mistake(
                        "sets the depth of a queue after the queue pair was made",
                        MISSING,
                        "pair.sendDepth(64);",
                        "domain.createQueuePair(QueuePair.rc(queue).sendDepth(64));"),
                new Mistake(
                        "connects a queue pair to a socket address",
                        ARGUMENT,
                        "pair.connect(new java.net.InetSocketAddress(18515));",
                        "pair.connect(pair.endpoint());"),
                new Mistake(
                        "gives access as a number",
                        ARGUMENT,
                        "domain.register(arena.allocate(8), 3);",
                        "domain.register(arena.allocate(8), AccessFlag.LOCAL_WRITE);"),
                new Mistake(
                        "waits without a unit of time",
                        ARGUMENT,
                        "queue.await(5);",
                        "queue.await(java.time.Duration.ofSeconds(5));"),
                new Mistake(
                        "has the JDK's arena own verbs objects",
                        ARGUMENT,
                        "Device.first().open(java.lang.foreign.Arena.ofConfined());",
                        "Device.first().open(VerbsArena.ofConfined());"),
                new Mistake(
                        "catches a checked exception that no verb throws",
                        "except.never.thrown.in.try",
                        "try { pair.postSend(1, region); } catch (java.io.IOException e) { return; }",
                        "try { pair.postSend(1, region); } catch (VerbsException e) { return; }"),
                new Mistake(
                        "waits in code that can't be interrupted",
                        "unreported.exception.need.to.catch.or.throw",
                        "Runnable wait = () -> queue.await(java.time.Duration.ZERO);",
                        "java.util.concurrent.Callable<?> wait = () -> queue.await(java.time.Duration.ZERO);"),
                new Mistake(
                        "has local memory of its own making",
                        "local.classes.cant.extend.sealed",
                        "final class Mine implements LocalMemory {}",
                        "final class Mine {}"),
                new Mistake(
                        "calls the library's own packages",
                        "package.not.visible",
                        "Object driver = dev.verbena.internal.Driver.class;",
                        "Object device = dev.verbena.verbs.Device.class;"));
    }

    private List<String> errors(String statement) throws IOException {
        Path module = Files.writeString(folder.resolve("module-info.java"), "module wrong { requires dev.verbena; }\n");
        Path program = Files.writeString(folder.resolve("Program.java"), """
                package wrong;

                import dev.verbena.*;
                import dev.verbena.verbs.*;

                class Program {
                    static void run(
                            VerbsArena arena, ProtectionDomain domain, CompletionQueue queue, QueuePair pair,
                            SharedReceiveQueue shared, MemoryRegion region, RemoteMemory remote) throws InterruptedException {
                        // the statement is on the next line
                        %s
                    }
                }
                """.formatted(statement));
        DiagnosticCollector<JavaFileObject> found = new DiagnosticCollector<>();
        JavaCompiler compiler = ToolProvider.getSystemJavaCompiler();
        try (StandardJavaFileManager files = compiler.getStandardFileManager(found, null, null)) {
            compiler.getTask(
                            null,
                            files,
                            found,
                            List.of(
                                    "-p",
                                    ChildJvm.place(Rdma.class).toString(),
                                    "-proc:none",
                                    "-d",
                                    folder.resolve("classes").toString()),
                            null,
                            files.getJavaFileObjects(module, program))
                    .call();
        }
        return found.getDiagnostics().stream()
                .filter(each -> each.getKind() == Diagnostic.Kind.ERROR)
                .map(each -> each.getLineNumber() + " " + each.getCode().replace("compiler.err.", ""))
                .toList();
    }

    @ParameterizedTest
    @MethodSource("mistakes")
    void wrongProgramDoesNotCompile(Mistake mistake) throws IOException {
        assertThat(errors(mistake.wrong())).singleElement().asString().matches("11 (" + mistake.error() + ")");
        assertThat(errors(mistake.right())).isEmpty();
    }
}
