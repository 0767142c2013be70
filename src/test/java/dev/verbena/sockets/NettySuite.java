package dev.verbena.sockets;

import static org.junit.platform.engine.discovery.ClassNameFilter.excludeClassNamePatterns;
import static org.junit.platform.engine.discovery.ClassNameFilter.includeClassNamePatterns;
import static org.junit.platform.engine.discovery.DiscoverySelectors.selectIteration;
import static org.junit.platform.engine.discovery.DiscoverySelectors.selectMethod;
import static org.junit.platform.engine.discovery.DiscoverySelectors.selectPackage;

import dev.verbena.support.ChildJvm;
import java.io.IOException;
import java.lang.instrument.ClassFileTransformer;
import java.lang.instrument.Instrumentation;
import java.net.InetSocketAddress;
import java.nio.file.Files;
import java.nio.file.Path;
import java.security.ProtectionDomain;
import java.time.Duration;
import java.util.Map;
import java.util.TreeMap;
import java.util.jar.Attributes;
import java.util.jar.JarOutputStream;
import java.util.jar.Manifest;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.stream.IntStream;
import org.jspecify.annotations.Nullable;
import org.junit.platform.engine.TestExecutionResult;
import org.junit.platform.launcher.TestExecutionListener;
import org.junit.platform.launcher.TestIdentifier;
import org.junit.platform.launcher.core.LauncherDiscoveryRequestBuilder;
import org.junit.platform.launcher.core.LauncherFactory;
import org.objectweb.asm.ClassReader;
import org.objectweb.asm.ClassVisitor;
import org.objectweb.asm.ClassWriter;
import org.objectweb.asm.MethodVisitor;
import org.objectweb.asm.Opcodes;

/**
 * Runs Netty's own tests of socket channels in a JVM of their own, whose default selector provider is a chosen one. The
 * tests are as Netty ships them, except for the address: they connect to 127.0.0.1, which no RDMA device has. As an agent,
 * this class makes that the address of the device.
 */
public final class NettySuite {
    private static final String TESTS = "io.netty.testsuite.transport.socket";
    private static final String TLS = TESTS + ".SocketSslEchoTest";
    private static final String TLS_TEST = TLS
            + "#testSslEcho(io.netty.handler.ssl.SslContext, io.netty.handler.ssl.SslContext, " + TLS
            + "$Renegotiation, boolean, boolean, boolean, boolean, boolean, org.junit.jupiter.api.TestInfo)";

    /** More than there are repetitions of Netty's echo over TLS. */
    private static final int REPETITIONS = 200;

    private static final String ADDRESS = "newSocketAddress";
    private static final String ADDRESS_SHAPE = "()Ljava/net/SocketAddress;";
    private static final Pattern RESULT = Pattern.compile("^RESULT (\\S+) (\\S+) (.*)$", Pattern.MULTILINE);

    private static volatile @Nullable String host;

    private NettySuite() {}

    /** The end of a test: SUCCESSFUL, FAILED, ABORTED or SKIPPED, and why. */
    record Outcome(String status, String reason) {
        boolean passed() {
            return status.equals(TestExecutionResult.Status.SUCCESSFUL.name());
        }
    }

    /**
     * Runs the tests in another JVM.
     *
     * @param classes a pattern for the simple names of the test classes
     * @param every of the repetitions of Netty's echo over TLS, which one to run: 1 for all, 7 for each seventh
     * @param provider the name of the class of the selector provider; null for that of the JDK
     * @param host the address to connect to
     * @param deadline the longest time that the run may take
     * @return the outcomes by the names of the tests
     */
    static Map<String, Outcome> run(
            String classes, int every, @Nullable String provider, String host, Duration deadline) throws IOException {
        Path agent = Files.createTempFile("netty", ".jar");
        try {
            Manifest manifest = new Manifest();
            manifest.getMainAttributes().put(Attributes.Name.MANIFEST_VERSION, "1.0");
            manifest.getMainAttributes().put(new Attributes.Name("Premain-Class"), NettySuite.class.getName());
            new JarOutputStream(Files.newOutputStream(agent), manifest).close();
            ChildJvm jvm = ChildJvm.with("-javaagent:" + agent + "=" + host, "--enable-native-access=ALL-UNNAMED")
                    .option("-Djava.net.preferIPv4Stack=true")
                    .deadline(deadline);
            if (provider != null) {
                jvm.option("-Djava.nio.channels.spi.SelectorProvider=" + provider);
            }
            Map<String, Outcome> outcomes = new TreeMap<>();
            Matcher lines = RESULT.matcher(jvm.runOnClassPath(NettySuite.class, classes, Integer.toString(every))
                    .successfulOutput());
            while (lines.find()) {
                outcomes.put(lines.group(2), new Outcome(lines.group(1), lines.group(3)));
            }
            return outcomes;
        } finally {
            Files.delete(agent);
        }
    }

    /**
     * Changes the address that the tests connect to.
     *
     * @param host the address
     */
    public static void premain(String host, Instrumentation jvm) {
        NettySuite.host = host;
        jvm.addTransformer(new ClassFileTransformer() {
            @Override
            public byte @Nullable [] transform(
                    @Nullable ClassLoader loader,
                    @Nullable String name,
                    @Nullable Class<?> redefined,
                    @Nullable ProtectionDomain domain,
                    byte[] classFile) {
                return name != null && name.startsWith(TESTS.replace('.', '/')) ? withAddress(classFile) : null;
            }
        });
    }

    /** Returns the class with the device's address in place of the local host's, where it has a method for that. */
    private static byte[] withAddress(byte[] classFile) {
        ClassReader reader = new ClassReader(classFile);
        ClassWriter writer = new ClassWriter(reader, 0);
        reader.accept(
                new ClassVisitor(Opcodes.ASM9, writer) {
                    @Override
                    public @Nullable MethodVisitor visitMethod(
                            int access,
                            String name,
                            String shape,
                            @Nullable String generic,
                            String @Nullable [] thrown) {
                        MethodVisitor method = super.visitMethod(access, name, shape, generic, thrown);
                        if (!name.equals(ADDRESS) || !shape.equals(ADDRESS_SHAPE)) {
                            return method;
                        }
                        method.visitCode();
                        method.visitMethodInsn(
                                Opcodes.INVOKESTATIC,
                                NettySuite.class.getName().replace('.', '/'),
                                "address",
                                "()Ljava/net/InetSocketAddress;",
                                false);
                        method.visitInsn(Opcodes.ARETURN);
                        method.visitMaxs(1, 1);
                        method.visitEnd();
                        return null;
                    }
                },
                0);
        return writer.toByteArray();
    }

    /** Returns the address of the device, with any free port. Netty's tests call this. */
    public static InetSocketAddress address() {
        return new InetSocketAddress(host, 0);
    }

    /**
     * Runs the tests of the classes that a pattern names, and prints a line for each.
     *
     * @param arguments the pattern, and the distance of the repetitions of the echo over TLS
     */
    public static void main(String[] arguments) {
        String classes = ".*\\." + arguments[0];
        execute(LauncherDiscoveryRequestBuilder.request()
                .selectors(selectPackage(TESTS))
                .filters(includeClassNamePatterns(classes), excludeClassNamePatterns(Pattern.quote(TLS))));
        if (TLS.matches(classes)) {
            int every = Integer.parseInt(arguments[1]);
            int[] chosen =
                    IntStream.iterate(0, i -> i < REPETITIONS, i -> i + every).toArray();
            execute(LauncherDiscoveryRequestBuilder.request()
                    .selectors(selectIteration(selectMethod(TLS_TEST), chosen)));
        }
        System.exit(0); // the event loops of the tests never end
    }

    private static void execute(LauncherDiscoveryRequestBuilder request) {
        LauncherFactory.create().execute(request.build(), new TestExecutionListener() {
            @Override
            public void executionSkipped(TestIdentifier test, String reason) {
                if (test.isTest()) {
                    print(test, "SKIPPED", reason);
                }
            }

            @Override
            public void executionFinished(TestIdentifier test, TestExecutionResult result) {
                if (test.isTest()) {
                    print(
                            test,
                            result.getStatus().name(),
                            result.getThrowable().map(String::valueOf).orElse(""));
                } else {
                    result.getThrowable().ifPresent(Throwable::printStackTrace);
                }
            }
        });
    }

    private static void print(TestIdentifier test, String status, String reason) {
        String name = test.getUniqueIdObject().getSegments().stream()
                .skip(1)
                .map(segment -> segment.getValue().replaceAll("\\(.*$", "").replaceAll("^.*\\.", ""))
                .reduce((left, right) -> left + "." + right)
                .orElseThrow();
        System.out.println("\nRESULT " + status + " " + name + " "
                + reason.lines().findFirst().orElse(""));
    }
}
