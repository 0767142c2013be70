package dev.verbena.tools.device;

import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.io.PrintStream;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;

/** The folders of made-up devices. */
record SysfsTree(Path folder) {
    /** A tool that reads folders of devices. */
    interface Tool {
        int run(String[] args, PrintStream out, DeviceFolders folders) throws Exception;
    }

    /** Writes a file, such as {@code rxe0/ports/1/hw_counters/sent_pkts}. */
    SysfsTree with(String file, Object text) {
        Path path = folder.resolve(file);
        try {
            Files.createDirectories(path.getParent());
            Files.writeString(path, text + "\n");
        } catch (IOException e) {
            throw new AssertionError(e);
        }
        return this;
    }

    /** Runs a tool on these folders and returns its output. */
    String run(Tool tool, String... args) throws Exception {
        ByteArrayOutputStream out = new ByteArrayOutputStream();
        tool.run(args, new PrintStream(out, true, StandardCharsets.UTF_8), new DeviceFolders(folder));
        return out.toString(StandardCharsets.UTF_8);
    }
}
