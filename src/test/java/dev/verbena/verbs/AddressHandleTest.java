package dev.verbena.verbs;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.verbena.ResourceBusyException;
import dev.verbena.VerbsArena;
import dev.verbena.VerbsException;
import dev.verbena.support.DeviceTest;
import dev.verbena.support.TestDevice;
import dev.verbena.support.Twin;
import dev.verbena.verbs.address.AddressVector;
import dev.verbena.verbs.address.GidEntry;
import dev.verbena.verbs.address.GlobalRoute;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;

/** Paths for datagrams. */
@DeviceTest
class AddressHandleTest {
    private VerbsArena arena;
    private ProtectionDomain domain;
    private AddressVector path;

    @BeforeEach
    void open() {
        arena = VerbsArena.ofConfined();
        Context context = TestDevice.get().open(arena);
        domain = context.allocateProtectionDomain();
        GidEntry own = context.bestGid(1);
        path = AddressVector.of(1)
                .destinationLid(context.port(1).lid())
                .globalRoute(GlobalRoute.to(own.gid(), own.index()));
    }

    @AfterEach
    void close() {
        arena.close();
    }

    @Test
    @Twin("test_addr.AHTest.test_create_ah")
    void createAddressHandleAcceptsAPath() {
        AddressHandle handle = domain.createAddressHandle(path);

        assertThat(handle.path()).isEqualTo(path);
        assertThat(handle.domain()).isSameAs(domain);
    }

    @Test
    @Twin("test_addr.AHTest.test_create_ah_roce")
    void createAddressHandleOnRoceNeedsAGlobalRoute() {
        AddressVector local = AddressVector.of(1);

        assertThatThrownBy(() -> domain.createAddressHandle(local))
                .isInstanceOf(VerbsException.class)
                .hasMessageContaining("ibv_create_ah")
                .hasMessageContaining("RoCE needs a global route");
    }

    @Test
    @Twin("test_addr.AHTest.test_destroy_ah")
    void closedAddressHandleRefusesUse() {
        AddressHandle handle = domain.createAddressHandle(path);
        handle.close();
        handle.close();

        assertThat(handle.isOpen()).isFalse();
        assertThatThrownBy(handle::path).isInstanceOf(IllegalStateException.class);
    }

    @Test
    void addressHandleKeepsItsProtectionDomainOpen() {
        AddressHandle handle = domain.createAddressHandle(path);
        assertThatThrownBy(domain::close)
                .isInstanceOf(ResourceBusyException.class)
                .hasMessageContaining("address handle");

        handle.close();
        domain.close();
        assertThat(domain.isOpen()).isFalse();
    }

    @Test
    void createAddressHandleNamesEmptyGidIndex() {
        GlobalRoute route = GlobalRoute.to(path.globalRoute().destination(), 200);

        assertThatThrownBy(() -> domain.createAddressHandle(AddressVector.of(1).globalRoute(route)))
                .isInstanceOf(VerbsException.class)
                .hasMessageContaining("GID");
    }
}
