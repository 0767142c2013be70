package dev.verbena.tools.command;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.attribute.PosixFilePermission;
import java.util.EnumSet;
import java.util.Set;
import org.jspecify.annotations.Nullable;

/** The file of {@code --secret-file}: the bytes that two tools share, and that nobody else may read. */
public final class SecretFile {
    private static final String OPTION = "--secret-file";
    private static final int LEAST = 16;
    private static final int MOST = 4096;

    private static final Set<PosixFilePermission> OF_OTHERS = EnumSet.of(
            PosixFilePermission.GROUP_READ,
            PosixFilePermission.GROUP_WRITE,
            PosixFilePermission.OTHERS_READ,
            PosixFilePermission.OTHERS_WRITE);

    private SecretFile() {}

    /**
     * Reads the file, if there is the option.
     *
     * @param options the options of a tool
     * @return the bytes; null without the option
     * @throws IOException if the file can't be read, has too few or too many bytes, or if others can read or write it
     */
    public static byte @Nullable [] read(Options options) throws IOException {
        if (!options.has(OPTION)) {
            return null;
        }
        Path file = Path.of(options.text(OPTION, ""));
        Set<PosixFilePermission> permissions = Files.getPosixFilePermissions(file);
        if (permissions.stream().anyMatch(OF_OTHERS::contains)) {
            throw new IOException("others can read or write '" + file + "': chmod 600 " + file);
        }
        long size = Files.size(file);
        if (size < LEAST || size > MOST) {
            throw new IOException("'" + file + "' must have " + LEAST + " to " + MOST + " bytes, got " + size
                    + ": make it with 'head -c 32 /dev/urandom'");
        }
        return Files.readAllBytes(file);
    }
}
