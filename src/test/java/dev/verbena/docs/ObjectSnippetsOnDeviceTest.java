package dev.verbena.docs;

import dev.verbena.UnsupportedVerbException;
import dev.verbena.VerbsArena;
import dev.verbena.docs.ObjectSnippetsTest.Example;
import dev.verbena.support.DeviceTest;
import dev.verbena.support.Loopback;
import dev.verbena.support.Unsupported;
import dev.verbena.verbs.MemoryRegion;
import java.nio.file.Files;
import java.nio.file.Path;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** The examples of {@link ObjectSnippetsTest} that need what some devices lack, on a device. */
@DeviceTest
class ObjectSnippetsOnDeviceTest {
    @Test
    void eachFeatureWorksOrIsRefusedWithAReason(@TempDir Path folder) throws Exception {
        Path file = Files.createFile(folder.resolve("xrc"));
        try (Loopback loopback = Loopback.unconnected(VerbsArena.ofConfined(), options -> options)) {
            for (Example example : ObjectSnippetsTest.examples().toList()) {
                MemoryRegion buffer = loopback.domain.register(loopback.arena.allocate(4096, 4096));
                try {
                    example.feature().use(loopback, buffer, file);
                } catch (UnsupportedVerbException e) {
                    Unsupported.assertSaysSo(example.function(), e, example.words());
                }
            }
        }
    }
}
