package dev.verbena.sockets;

import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.stream.Stream;

/** The library of rdma-core that makes the sockets of a C program RDMA sockets. */
public final class Preload {
    private static final String ARCHITECTURE = System.getProperty("os.arch").replace("amd64", "x86_64");
    private static final Path LIBRARY = Stream.of("/usr/lib/" + ARCHITECTURE + "-linux-gnu", "/usr/lib64", "/usr/lib")
            .map(folder -> Path.of(folder, "rsocket", "librspreload.so"))
            .filter(Files::exists)
            .findFirst()
            .orElseThrow();

    private Preload() {}

    /** Returns true if the library has its own form of a function. */
    public static boolean wraps(String function) throws IOException {
        return Files.readString(LIBRARY, StandardCharsets.ISO_8859_1).contains(function);
    }

    /** Returns a command with the library, and with variables of the environment. */
    public static List<String> of(List<String> command, String... variables) {
        List<String> all = new ArrayList<>(List.of("env", "LD_PRELOAD=" + LIBRARY));
        all.addAll(List.of(variables));
        all.addAll(command);
        return all;
    }
}
