package dev.verbena.tools.copy;

import dev.verbena.tools.command.PeerText;
import java.io.Closeable;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.channels.FileChannel;
import java.nio.channels.FileLock;
import java.nio.channels.OverlappingFileLockException;
import java.nio.file.DirectoryStream;
import java.nio.file.FileSystemException;
import java.nio.file.Files;
import java.nio.file.LinkOption;
import java.nio.file.NoSuchFileException;
import java.nio.file.OpenOption;
import java.nio.file.Path;
import java.nio.file.SecureDirectoryStream;
import java.nio.file.StandardOpenOption;
import java.nio.file.attribute.BasicFileAttributeView;
import java.nio.file.attribute.BasicFileAttributes;
import java.nio.file.attribute.FileTime;
import java.security.MessageDigest;
import java.time.Duration;
import java.time.Instant;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.HexFormat;
import java.util.List;
import java.util.Objects;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import org.jspecify.annotations.Nullable;

/**
 * A folder that files of peers go to, and nothing outside of it. Each part of a path is opened from the folder above, without
 * following links, so that nobody can lead a path out of the folder between a check and its use.
 *
 * <p>A file has a name made of its sum until it is whole. So a file that was left can be continued if its content is the same,
 * and nobody sees half a file under its own name. Unfinished files are bounded in number and age: the oldest ones are deleted.
 */
final class Inbox implements Closeable {
    /** Files that are not whole begin with this. No peer can give a file such a name. */
    static final String PREFIX = ".verbena-";

    /** The number of bytes of a transfer. A file is continued at a multiple of that. */
    static final int PIECE = 16 << 20;

    /** The largest number of unfinished files of a folder, and their longest age. */
    static final int MOST_UNFINISHED = 100;

    static final Duration MOST_AGE = Duration.ofDays(14);

    private static final Set<OpenOption> OPTIONS = Set.of(
            StandardOpenOption.CREATE, StandardOpenOption.READ, StandardOpenOption.WRITE, LinkOption.NOFOLLOW_LINKS);
    private static final String BUSY =
            "A file with the same content is being received. If that copy was interrupted, try"
                    + " again when the server has noticed it";

    private final Path folder;
    private final Set<String> busy = ConcurrentHashMap.newKeySet();

    /** The folders that were looked into for old unfinished files. */
    private final Set<String> folders = ConcurrentHashMap.newKeySet();

    Inbox(Path folder) throws IOException {
        this.folder = folder.toRealPath();
        open().close(); // throws now if this is not possible
    }

    @SuppressWarnings("StreamResourceLeak") // the caller closes it
    private SecureDirectoryStream<Path> open() throws IOException {
        return secure(Files.newDirectoryStream(folder));
    }

    private static SecureDirectoryStream<Path> secure(DirectoryStream<Path> folder) throws IOException {
        if (folder instanceof SecureDirectoryStream<Path> secure) {
            return secure;
        }
        folder.close();
        throw new IOException("This system can't open a file without following links");
    }

    /** Returns the parts of a path that stays in the folder. */
    static List<String> parts(String path) throws IOException {
        List<String> parts = List.of(path.split("/", -1));
        for (String part : parts) {
            if (part.isEmpty() || part.equals(".") || part.equals("..") || part.indexOf('\0') >= 0) {
                throw new IOException(
                        "The path must be relative, without empty parts, '.' and '..', got '" + path + "'");
            }
            if (!PeerText.isHarmless(part)) {
                throw new IOException(
                        "Names must have no control characters, ends of lines or marks of the direction of"
                                + " writing, got '" + PeerText.harmless(path) + "'");
            }
            if (part.startsWith(PREFIX)) {
                throw new IOException(
                        "Names that begin with " + PREFIX + " are those of unfinished files, got '" + path + "'");
            }
        }
        return parts;
    }

    /** Begins or continues to receive a file. */
    Incoming receive(String path, long size, byte[] sum) throws IOException {
        List<String> parts = parts(path);
        if (size < 0) {
            throw new IOException("The size must not be negative, got " + size);
        }
        String part = PREFIX + HexFormat.of().formatHex(sum);
        String place = String.join("/", parts.subList(0, parts.size() - 1)) + '/';
        String key = place + part;
        if (!busy.add(key)) {
            throw new IOException(BUSY);
        }
        SecureDirectoryStream<Path> parent = null;
        try {
            parent = open();
            for (String each : parts.subList(0, parts.size() - 1)) {
                SecureDirectoryStream<Path> above = parent;
                parent = secure(above.newDirectoryStream(Path.of(each), LinkOption.NOFOLLOW_LINKS));
                above.close();
            }
            return new Incoming(parent, place, Path.of(part), Path.of(parts.getLast()), size, sum);
        } catch (IOException | RuntimeException e) {
            busy.remove(key);
            if (parent != null) {
                parent.close();
            }
            if (e instanceof IllegalArgumentException) { // the path has characters that this system does not have
                throw new IOException(e.getMessage(), e);
            }
            throw e;
        }
    }

    @Override
    public void close() {
        busy.clear();
    }

    /** Forgets unfinished files of a folder that are too old, or too many: the oldest ones of those that nobody receives. */
    private void tidy(SecureDirectoryStream<Path> parent, String place) throws IOException {
        List<Unfinished> all = new ArrayList<>();
        try (DirectoryStream<Path> listed = parent.newDirectoryStream(Path.of("."), LinkOption.NOFOLLOW_LINKS)) {
            for (Path each : listed) {
                Path name = each.getFileName();
                BasicFileAttributes found = name.toString().startsWith(PREFIX) ? attributes(parent, name) : null;
                if (found != null && found.isRegularFile()) {
                    all.add(new Unfinished(name, found.lastModifiedTime()));
                }
            }
        }
        all.sort(Comparator.comparing(Unfinished::changed));
        FileTime oldest = FileTime.from(Instant.now().minus(MOST_AGE));
        int surplus = all.size() - MOST_UNFINISHED;
        for (int i = 0; i < all.size(); i++) {
            if (i < surplus || all.get(i).changed.compareTo(oldest) < 0) {
                forget(parent, place, all.get(i).name);
            }
        }
    }

    /** An unfinished file. */
    private record Unfinished(Path name, FileTime changed) {}

    /** Deletes an unfinished file, unless it is being received here or by another process. */
    private void forget(SecureDirectoryStream<Path> parent, String place, Path part) throws IOException {
        String key = place + part;
        if (!busy.add(key)) {
            return;
        }
        try (FileChannel file = (FileChannel) parent.newByteChannel(part, OPTIONS)) {
            if (file.tryLock() != null) {
                parent.deleteFile(part);
            }
        } catch (OverlappingFileLockException | NoSuchFileException other) {
            return; // another server of this process has it, or has finished it
        } finally {
            busy.remove(key);
        }
    }

    /** Returns the attributes of a file of a folder; null if there is none. */
    private static @Nullable BasicFileAttributes attributes(SecureDirectoryStream<Path> parent, Path of)
            throws IOException {
        try {
            return parent.getFileAttributeView(of, BasicFileAttributeView.class, LinkOption.NOFOLLOW_LINKS)
                    .readAttributes();
        } catch (NoSuchFileException absent) {
            return null;
        }
    }

    /** A file that is being received. It is made when its first byte comes. One thread uses an instance. */
    final class Incoming implements Closeable {
        private final SecureDirectoryStream<Path> parent;
        private final String place;
        private final Path part;
        private final Path name;
        private final long size;
        private final byte[] sum;
        private @Nullable FileChannel file;
        private long next;
        private boolean over;

        private Incoming(SecureDirectoryStream<Path> parent, String place, Path part, Path name, long size, byte[] sum)
                throws IOException {
            this.parent = parent;
            this.place = place;
            this.part = part;
            this.name = name;
            this.size = size;
            this.sum = sum.clone();
            checkName();
            if (folders.add(place)) {
                tidy(parent, place); // of what killed servers have left
            }
            BasicFileAttributes left = attributes(parent, part);
            if (left != null) {
                FileChannel old = open(left);
                long has = old.size();
                // the last piece may have holes: the file becomes longer before the data comes
                next = has == 0 || has > size ? 0 : (has - 1) / PIECE * PIECE;
                old.truncate(next);
            }
        }

        /** Finds now that the file can't get its name, and not when all data has come. */
        private void checkName() throws IOException {
            BasicFileAttributes old = attributes(parent, name);
            if (old != null && old.isDirectory()) {
                throw new FileSystemException(name.toString(), null, "is a folder: name a file in it, or end with '/'");
            }
        }

        private FileChannel open(BasicFileAttributes found) throws IOException {
            if (!found.isRegularFile()) {
                throw new FileSystemException(part.toString(), null, "not a regular file");
            }
            FileChannel opened = (FileChannel) parent.newByteChannel(part, OPTIONS);
            try {
                lock(opened, found);
            } catch (IOException | RuntimeException e) {
                opened.close();
                throw e;
            }
            file = opened;
            return opened;
        }

        /**
         * Locks the file, which another process may be receiving too. That process gives the file its name while it has the
         * lock. So this file is unfinished if it is still found under the name of the part.
         *
         * @param before the attributes of the part before it was opened
         */
        private void lock(FileChannel opened, BasicFileAttributes before) throws IOException {
            FileLock lock;
            try {
                lock = opened.tryLock();
            } catch (OverlappingFileLockException thisProcess) {
                lock = null;
            }
            BasicFileAttributes now = attributes(parent, part);
            if (lock == null || now == null || !Objects.equals(before.fileKey(), now.fileKey())) {
                throw new IOException(BUSY);
            }
        }

        /** Returns the file, to write the next piece to. Makes it for the first one. */
        FileChannel file() throws IOException {
            FileChannel known = file;
            if (known != null) {
                return known;
            }
            if (attributes(parent, part) == null) {
                parent.newByteChannel(part, OPTIONS).close();
            }
            BasicFileAttributes made = attributes(parent, part);
            if (made == null) {
                throw new IOException(BUSY);
            }
            FileChannel fresh = open(made);
            fresh.truncate(0); // the peer begins at the beginning
            return fresh;
        }

        /** Returns the place of the next piece. */
        long next() {
            return next;
        }

        /** Returns the number of bytes of the next piece. */
        long piece() {
            return Math.min(PIECE, size - next);
        }

        /** Notes that the next piece has come. */
        void arrived() {
            next += piece();
        }

        /** Checks the sum, and gives the file its name. A file with a wrong sum is deleted. */
        void finish() throws IOException {
            if (next != size) {
                throw new IOException("The file has " + size + " bytes, and only " + next + " have come");
            }
            FileChannel whole = file();
            over = true;
            if (!MessageDigest.isEqual(sum, CopyWire.sum(whole, size, done -> {}))) {
                parent.deleteFile(part);
                throw new IOException(
                        "The SHA-256 is wrong: the file or what had come of it has changed meanwhile. Copy it again");
            }
            whole.force(true);
            parent.move(part, parent, name);
        }

        @Override
        public void close() throws IOException {
            try (parent;
                    FileChannel open = file) {
                if (open != null && !over) {
                    leave(open);
                }
            } finally {
                busy.remove(place + part);
            }
        }

        /** Keeps what has come for another time. */
        private void leave(FileChannel open) throws IOException {
            if (!open.isOpen()) { // the thread was interrupted
                return;
            }
            if (next == 0) {
                parent.deleteFile(part);
                return;
            }
            open.truncate(Math.min(open.size(), next));
            if (next < size) {
                // A byte of the next piece shows that the one before is whole: else it may have holes.
                open.write(ByteBuffer.allocate(1), next);
            }
            tidy(parent, place);
        }
    }
}
