package dev.verbena.walk;

/** The actions of a walk, and how often each is taken. */
enum Action {
    NEW_ARENA(3, Making::arena),
    OPEN_CONTEXT(2, Making::context),
    ALLOCATE_DOMAIN(3, Making::domain),
    ALLOCATE_PARENT_DOMAIN(1, Making::parentDomain),
    CREATE_CHANNEL(2, Making::channel),
    CREATE_QUEUE(4, Making::completionQueue),
    CREATE_PAIR(8, Making::queuePair),
    CREATE_SHARED_RECEIVES(2, Making::sharedReceiveQueue),
    CREATE_PATH(2, Making::addressHandle),
    ALLOCATE_MEMORY(4, Making::memory),
    REGISTER(8, Making::region),
    REREGISTER(2, Making::reregistered),
    ALLOCATE_WINDOW(3, Making::window),
    MAKE_SEND_BATCH(3, Making::sendBatch),
    MAKE_RECEIVE_BATCH(2, Making::receiveBatch),
    MAKE_CURSOR(3, Making::cursor),
    CLOSE(18, Closing::object),
    CLOSE_ARENA(2, Closing::arena),
    TOUCH(10, Making::touch),
    CONNECT(12, Traffic::connect),
    RESET(3, Traffic::reset),
    FAIL(1, Traffic::fail),
    QUERY(3, Traffic::query),
    SEND(40, Traffic::send),
    RECEIVE(40, Traffic::receive),
    BIND(8, Traffic::bind),
    UNBIND(2, Traffic::unbind),
    BATCH_ADD(25, Batching::add),
    BATCH_RECEIVE(12, Batching::addReceive),
    BATCH_CLEAR(2, Batching::clear),
    BATCH_POST(16, Batching::post),
    RECEIVES_POST(8, Batching::postReceives),
    POLL(30, Taking::poll),
    CURSOR_POLL(25, Taking::pollCursor),
    CURSOR_NEXT(5, Taking::nextOfCursor),
    NOTIFY(4, Taking::requestNotification),
    CHANNEL_POLL(5, Taking::pollChannel),
    RAISE(4, Taking::raise),
    EVENTS_POLL(6, Taking::pollEvents),
    RESIZE(2, Taking::resize),
    FILL(4, Traffic::fill),
    MAKE_POOL(3, Lending::pool),
    POOL_TAKE(6, Lending::take),
    POOL_GIVE_BACK(5, Lending::giveBack),
    MAKE_CACHE(2, Lending::cache),
    CACHE_USE(8, Lending::use),
    CACHE_END_USE(6, Lending::endUse),
    CACHE_FORGET(2, Lending::forget),
    CREATE_WORK_QUEUE(3, Rare::workQueue),
    MODIFY_WORK_QUEUE(6, Rare::modify),
    WORK_QUEUE_RECEIVE(8, Rare::receive),
    CREATE_TABLE(2, Rare::table),
    OPEN_XRC_DOMAIN(2, Rare::xrcDomain),
    CREATE_XRC_RECEIVES(2, Rare::xrcReceives),
    XRC_RECEIVE(3, Rare::xrcReceive),
    CREATE_HALF_PAIR(4, Rare::halfPair),
    ATTACH_GROUP(4, Rare::attach),
    DETACH_GROUP(3, Rare::detach),
    CM_CHANNEL(4, Connecting::channel, true),
    CM_ID(14, Connecting::id, true),
    CM_PAIR(14, Connecting::pair, true),
    CM_LISTEN(6, Connecting::listen, true),
    CM_RESOLVE(12, Connecting::resolve, true),
    CM_CONNECT(14, Connecting::connect, true),
    CM_CHANNEL_POLL(12, Connecting::pollChannel, true),
    CM_ID_POLL(16, Connecting::pollId, true),
    CM_CLAIM(12, Connecting::claim, true),
    CM_REJECT_REQUEST(3, Connecting::rejectRequest, true),
    CM_ACCEPT(14, Connecting::accept, true),
    CM_REJECT(3, Connecting::reject, true),
    CM_ESTABLISH(4, Connecting::establish, true),
    CM_DISCONNECT(6, Connecting::disconnect, true),
    CM_MIGRATE(6, Connecting::migrate, true),
    CM_SEND(20, Connecting::send, true),
    CM_MEET(30, Connecting::meet, true),
    CM_DATAGRAM_ID(8, Datagrams::id, true),
    CM_DATAGRAM_PLACE(10, Datagrams::place, true),
    CM_DATAGRAM_PAIR(8, Datagrams::pair, true),
    CM_DATAGRAM_SEND(12, Datagrams::send, true),
    CM_JOIN(12, Datagrams::join, true),
    CM_DATAGRAM_MIGRATE(3, Datagrams::migrate, true);

    /** Carries out a step. */
    @FunctionalInterface
    interface Body {
        void run(World world, Step step);
    }

    final int weight;
    final Body body;
    /** True if the action is of walks with the connection manager. */
    final boolean connects;

    Action(int weight, Body body) {
        this(weight, body, false);
    }

    Action(int weight, Body body, boolean connects) {
        this.weight = weight;
        this.body = body;
        this.connects = connects;
    }
}
