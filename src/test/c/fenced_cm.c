/*
 * The connection manager of the provider for tests, a part of fenced.c: ids of one process that resolve, connect, reject and
 * disconnect without a network. It keeps the rules of librdmacm and its kernel module that callers trip over:
 *
 * - A call names the channel that the id had when the call began. The kernel answers EINVAL if the id has moved meanwhile.
 * - Destroying an id waits until the events that were taken of it are acknowledged. It rejects a request not answered yet.
 * - The peer's end does not change a queue pair: it stays ready, and its requests wait.
 * - A peer that leaves before it is accepted raises no event. Calls with its request answer EINVAL from then on.
 * - A listener keeps as many requests that nobody has taken as its backlog allows, and rejects the others.
 * - The device is open as long as an id or a list of devices uses it.
 *
 * Besides the functions, these steps can fail or stop: "moved" (rdma_migrate_id between the kernel's work and its own),
 * "resolved" (the event after rdma_resolve_addr), and "joined" (the event after rdma_join_multicast; a negative error number
 * loses the event).
 */
#include <arpa/inet.h>
#include <netdb.h>
#include <rdma/rdma_cma.h>
#include <sched.h>

struct cm_channel {
	struct rdma_event_channel ibv;
	struct cm_event *first, **end;
	int ids;
};

struct cm_id {
	struct rdma_cm_id ibv;
	struct cm_channel *file; /* the kernel's idea of the channel */
	struct cm_id *peer, *next;
	uint16_t port; /* in host order */
	int backlog, waiting; /* of a listener: its requests that nobody has taken */
	int is_request, connected, joined, sync;
	unsigned taken, acknowledged;
	struct cm_device *device;
	uint32_t own_pair; /* the number of a queue pair that was not made on this id */
};

struct cm_event {
	struct rdma_cm_event ibv;
	struct cm_id *counted; /* waits for the acknowledgement when it is destroyed */
	struct cm_event *next;
	char private_data[256];
};

static struct cm_id *cm_ids;
#define FIRST_PORT 40000

static uint16_t next_port = FIRST_PORT;

/* --- the device --- */

static pthread_mutex_t cm_device = PTHREAD_MUTEX_INITIALIZER;
/* The devices that ids have: the second one has the addresses 10.9.8.0/24. */
static struct cm_device {
	struct ibv_device *ibv;
	struct ibv_context *verbs;
	struct ibv_pd *domain;
	int users;
} cm_devices[] = { { .ibv = &device }, { .ibv = &second_device } };

static struct cm_device *cm_device_of(const struct sockaddr *address)
{
	const struct sockaddr_in *in = (const struct sockaddr_in *)address;
	return &cm_devices[address && address->sa_family == AF_INET && ntohl(in->sin_addr.s_addr) >> 8 == 0x0a0908];
}

static int use_device(struct cm_device *it)
{
	pthread_mutex_lock(&cm_device);
	if (!it->users) {
		it->verbs = ibv_open_device(it->ibv);
		if (it->verbs)
			it->domain = ibv_alloc_pd(it->verbs);
	}
	int error = it->verbs && it->domain ? 0 : errno;
	if (!error) {
		it->users++;
	} else if (it->verbs) {
		ibv_close_device(it->verbs);
		it->verbs = NULL;
	}
	pthread_mutex_unlock(&cm_device);
	return error;
}

static void leave_device(struct cm_device *it)
{
	pthread_mutex_lock(&cm_device);
	if (!--it->users) {
		ibv_dealloc_pd(it->domain);
		ibv_close_device(it->verbs);
		it->verbs = NULL;
		it->domain = NULL;
	}
	pthread_mutex_unlock(&cm_device);
}

static void give_device(struct cm_id *id, struct cm_device *it)
{
	id->device = it;
	id->ibv.verbs = it->verbs;
	id->ibv.pd = it->domain;
	id->ibv.port_num = 1;
}

API struct ibv_context **rdma_get_devices(int *count)
{
	int error = enter("rdma_get_devices");
	leave();
	if (!error)
		error = use_device(cm_devices);
	if (error) {
		errno = error;
		return NULL;
	}
	struct ibv_context **list = calloc(2, sizeof(*list));
	if (!list) {
		leave_device(cm_devices);
		errno = ENOMEM;
		return NULL;
	}
	list[0] = cm_devices->verbs;
	if (count)
		*count = 1;
	return list;
}

API void rdma_free_devices(struct ibv_context **list)
{
	free(list);
	leave_device(cm_devices);
}

/* --- calls --- */

/* For functions that answer -1 with an error number. */
static int cm_answer(int error)
{
	leave();
	errno = error;
	return error ? -1 : 0;
}

/* The error that a step is to fail with. The lock is held. */
static int cm_fault(const char *step)
{
	struct fault *fault = fault_of(step);
	fault->calls++;
	return fault->calls_left && --fault->calls_left == 0 ? fault->error : fault->refusal;
}

/* Enters a call of the kernel with an id, through the channel that the id has now. */
static int cm_enter(const char *function, struct cm_id *id)
{
	struct rdma_event_channel *through = id->ibv.channel;
	int error = enter(function);
	return error || &id->file->ibv == through ? error : EINVAL;
}

/* --- events --- */

static struct cm_event *cm_raise(struct cm_id *id, enum rdma_cm_event_type type, int status, const void *data, size_t size)
{
	struct cm_event *event = always(1, sizeof(*event));
	event->ibv.id = &id->ibv;
	event->ibv.event = type;
	event->ibv.status = status;
	event->counted = id;
	if (size)
		memcpy(event->private_data, data, size);
	event->ibv.param.conn.private_data = event->private_data;
	event->ibv.param.conn.private_data_len = (uint8_t)size;
	*id->file->end = event;
	id->file->end = &event->next;
	signal_fd(id->file->ibv.fd);
	return event;
}

/* Raises the event of a removed device for all ids that have the device of a number. */
API void fenced_remove_device(int number)
{
	pthread_mutex_lock(&big);
	for (struct cm_id *id = cm_ids; id; id = id->next)
		if (id->device == &cm_devices[number])
			cm_raise(id, RDMA_CM_EVENT_DEVICE_REMOVAL, 0, NULL, 0);
	pthread_mutex_unlock(&big);
}

/* Takes the events of an id out of a channel. */
static struct cm_event *cm_take_out(struct cm_channel *channel, struct cm_id *id)
{
	struct cm_event *out = NULL, **end = &out, **at = &channel->first;
	while (*at) {
		struct cm_event *event = *at;
		if (event->counted == id) {
			*at = event->next;
			event->next = NULL;
			*end = event;
			end = &event->next;
			take_fd(channel->ibv.fd);
		} else {
			at = &event->next;
		}
	}
	channel->end = at;
	return out;
}

API struct rdma_event_channel *rdma_create_event_channel(void)
{
	int error = enter("rdma_create_event_channel");
	if (error)
		return refuse(error);
	int fd = eventfd(0, EFD_CLOEXEC | EFD_SEMAPHORE);
	if (fd < 0)
		return refuse(errno);
	struct cm_channel *channel = make(CM_CHANNEL, sizeof(*channel));
	if (!channel) {
		close(fd);
		return refuse(ENOMEM);
	}
	channel->ibv.fd = fd;
	channel->end = &channel->first;
	leave();
	return &channel->ibv;
}

API void rdma_destroy_event_channel(struct rdma_event_channel *which)
{
	struct cm_channel *channel = (struct cm_channel *)which;
	enter("rdma_destroy_event_channel");
	if (channel->ids)
		violate("rdma_destroy_event_channel with %d ids of it left", channel->ids);
	close(channel->ibv.fd);
	unmake(CM_CHANNEL, channel, sizeof(*channel));
	leave();
}

static void cm_fail_pair(struct cm_id *id)
{
	if (id->ibv.qp)
		fail_pair((struct fenced_qp *)id->ibv.qp);
}

/* Fails the queue pairs of connections, as if the adapter had given up a request: no event tells it. */
static void lose_connections(int sides)
{
	for (struct cm_id *id = cm_ids; id; id = id->next)
		if (id->connected && sides & (id->is_request ? 2 : 1))
			cm_fail_pair(id);
}

API int rdma_get_cm_event(struct rdma_event_channel *which, struct rdma_cm_event **taken)
{
	struct cm_channel *channel = (struct cm_channel *)which;
	int error = enter("rdma_get_cm_event");
	struct cm_event *event = channel->first;
	if (!error && !event)
		error = EAGAIN;
	if (error)
		return cm_answer(error);
	take_fd(channel->ibv.fd);
	channel->first = event->next;
	if (!channel->first)
		channel->end = &channel->first;
	event->counted->taken++;
	if (event->ibv.event == RDMA_CM_EVENT_CONNECT_REQUEST)
		event->counted->waiting--;
	if (event->ibv.event == RDMA_CM_EVENT_REJECTED) /* as librdmacm does: receives are flushed before the event is told */
		cm_fail_pair((struct cm_id *)event->ibv.id);
	*taken = &event->ibv;
	return cm_answer(0);
}

API int rdma_ack_cm_event(struct rdma_cm_event *which)
{
	struct cm_event *event = (struct cm_event *)which;
	pthread_mutex_lock(&big);
	event->counted->acknowledged++;
	pthread_cond_broadcast(&changed);
	free(event);
	return cm_answer(0);
}

/* --- ids --- */

static struct cm_id *cm_new(struct cm_channel *channel, enum rdma_port_space space, void *context)
{
	struct cm_id *id = make(CM_ID, sizeof(*id));
	if (!id)
		return NULL;
	id->ibv.channel = &channel->ibv;
	id->ibv.context = context;
	id->ibv.ps = space;
	id->ibv.qp_type = space == RDMA_PS_UDP || space == RDMA_PS_IPOIB ? IBV_QPT_UD : IBV_QPT_RC;
	id->file = channel;
	id->next = cm_ids;
	cm_ids = id;
	channel->ids++;
	return id;
}

API int rdma_create_id(struct rdma_event_channel *which, struct rdma_cm_id **made, void *context,
		       enum rdma_port_space space)
{
	int error = enter("rdma_create_id");
	struct cm_id *id = error ? NULL : cm_new((struct cm_channel *)which, space, context);
	if (!id)
		return cm_answer(error ? error : ENOMEM);
	*made = &id->ibv;
	return cm_answer(0);
}

/* Ends what an id has with its peer. */
static void cm_part(struct cm_id *id)
{
	struct cm_id *peer = id->peer;
	if (!peer)
		return;
	id->peer = peer->peer = NULL;
	if (id->connected) {
		cm_raise(peer, RDMA_CM_EVENT_DISCONNECTED, 0, NULL, 0);
	} else if (id->is_request) {
		cm_raise(peer, RDMA_CM_EVENT_REJECTED, 28, NULL, 0);
	}
	peer->connected = 0;
}

static void cm_destroy(struct cm_id *id)
{
	struct timespec until;
	clock_gettime(CLOCK_REALTIME, &until);
	until.tv_sec += 10;
	for (struct cm_id **at = &cm_ids; *at; at = &(*at)->next) { /* so that nobody finds it */
		if (*at == id) {
			*at = id->next;
			break;
		}
	}
	cm_part(id);
	for (;;) {
		struct cm_event *event = cm_take_out(id->file, id);
		while (event) {
			struct cm_event *next = event->next;
			if (event->ibv.event == RDMA_CM_EVENT_CONNECT_REQUEST)
				cm_destroy((struct cm_id *)event->ibv.id);
			free(event);
			event = next;
		}
		if (id->acknowledged == id->taken)
			break;
		if (pthread_cond_timedwait(&changed, &big, &until) == ETIMEDOUT) {
			violate("rdma_destroy_id waits for %u events that nobody acknowledges", id->taken - id->acknowledged);
			break;
		}
	}
	if (id->ibv.qp)
		violate("rdma_destroy_id with a queue pair");
	id->file->ids--;
	struct cm_channel *own = id->sync ? id->file : NULL;
	struct cm_device *has = id->device;
	unmake(CM_ID, id, sizeof(*id));
	leave();
	if (has)
		leave_device(has);
	if (own)
		rdma_destroy_event_channel(&own->ibv);
	pthread_mutex_lock(&big);
}

API int rdma_destroy_id(struct rdma_cm_id *which)
{
	int error = cm_enter("rdma_destroy_id", (struct cm_id *)which);
	if (!error)
		cm_destroy((struct cm_id *)which);
	return cm_answer(error);
}

API int rdma_migrate_id(struct rdma_cm_id *which, struct rdma_event_channel *to)
{
	struct cm_id *id = (struct cm_id *)which;
	struct cm_channel *target = (struct cm_channel *)to;
	int error = cm_enter("rdma_migrate_id", id);
	if (error)
		return cm_answer(error);
	struct cm_channel *own = id->sync ? id->file : NULL;
	struct cm_event *events = cm_take_out(id->file, id);
	id->file->ids--;
	id->file = target;
	target->ids++;
	while (events) {
		struct cm_event *next = events->next;
		events->next = NULL;
		*target->end = events;
		target->end = &events->next;
		signal_fd(target->ibv.fd);
		events = next;
	}
	leave();
	sched_yield();
	enter("moved");
	id->ibv.channel = to;
	id->sync = 0;
	leave();
	if (own)
		rdma_destroy_event_channel(&own->ibv);
	return 0;
}

API int rdma_set_option(struct rdma_cm_id *which, int level, int name, void *value, size_t size)
{
	(void)size;
	int error = cm_enter("rdma_set_option", (struct cm_id *)which);
	if (level == RDMA_OPTION_ID && name == RDMA_OPTION_ID_TOS)
		note("rdma_set_option.tos", *(uint8_t *)value);
	return cm_answer(error);
}

/* --- addresses --- */

static size_t cm_size(const struct sockaddr *address)
{
	return address->sa_family == AF_INET6 ? sizeof(struct sockaddr_in6) : sizeof(struct sockaddr_in);
}

static uint16_t *cm_port(struct sockaddr *address)
{
	return address->sa_family == AF_INET6 ? &((struct sockaddr_in6 *)address)->sin6_port
					      : &((struct sockaddr_in *)address)->sin_port;
}

static void cm_set_source(struct cm_id *id, const struct sockaddr *source)
{
	struct sockaddr *own = &id->ibv.route.addr.src_addr;
	memcpy(own, source, cm_size(source));
	id->port = ntohs(*cm_port(own));
	if (!id->port) {
		id->port = next_port++;
		if (!next_port) /* after 65535 */
			next_port = FIRST_PORT;
	}
	*cm_port(own) = htons(id->port);
}

static int cm_is_group(const struct sockaddr *address)
{
	return address->sa_family == AF_INET6 ? ((const struct sockaddr_in6 *)address)->sin6_addr.s6_addr[0] == 0xff
					      : (ntohl(((const struct sockaddr_in *)address)->sin_addr.s_addr) >> 28) == 14;
}

API int rdma_bind_addr(struct rdma_cm_id *which, struct sockaddr *address)
{
	struct cm_id *id = (struct cm_id *)which;
	struct cm_device *its = cm_device_of(address);
	int missing = id->device ? 0 : use_device(its);
	int error = cm_enter("rdma_bind_addr", id);
	if (!error)
		error = missing;
	if (error) {
		leave();
		if (!id->device && !missing)
			leave_device(its);
		errno = error;
		return -1;
	}
	cm_set_source(id, address);
	give_device(id, its);
	return cm_answer(0);
}

API int rdma_listen(struct rdma_cm_id *which, int backlog)
{
	struct cm_id *id = (struct cm_id *)which;
	int error = cm_enter("rdma_listen", id);
	if (!error)
		id->backlog = backlog;
	return cm_answer(error);
}

API __be16 rdma_get_src_port(struct rdma_cm_id *which) { return *cm_port(&which->route.addr.src_addr); }

API __be16 rdma_get_dst_port(struct rdma_cm_id *which) { return *cm_port(&which->route.addr.dst_addr); }

API int rdma_resolve_addr(struct rdma_cm_id *which, struct sockaddr *source, struct sockaddr *destination, int timeout)
{
	struct cm_id *id = (struct cm_id *)which;
	struct cm_device *its = id->device ? id->device : cm_device_of(source);
	int missing = id->device ? 0 : use_device(its);
	int bound = id->port != 0;
	int error = cm_enter("rdma_resolve_addr", id);
	if (!error)
		error = timeout < 1 ? EINVAL : missing;
	if (!error && cm_is_group(destination) && !source && !bound)
		error = ENETUNREACH;
	if (error) {
		leave();
		if (!id->device && !missing)
			leave_device(its);
		errno = error;
		return -1;
	}
	struct sockaddr_in any = { .sin_family = AF_INET, .sin_addr.s_addr = htonl(0x0a090901) };
	struct sockaddr_in6 any6 = { .sin6_family = AF_INET6, .sin6_addr = IN6ADDR_LOOPBACK_INIT };
	if (!bound)
		cm_set_source(id, source ? source : destination->sa_family == AF_INET6 ? (struct sockaddr *)&any6
										       : (struct sockaddr *)&any);
	memcpy(&id->ibv.route.addr.dst_addr, destination, cm_size(destination));
	give_device(id, its);
	int failed = cm_fault("resolved");
	cm_raise(id, failed ? RDMA_CM_EVENT_ADDR_ERROR : RDMA_CM_EVENT_ADDR_RESOLVED, -failed, NULL, 0);
	return cm_answer(0);
}

API int rdma_resolve_route(struct rdma_cm_id *which, int timeout)
{
	struct cm_id *id = (struct cm_id *)which;
	int error = cm_enter("rdma_resolve_route", id);
	if (!error && timeout < 1)
		error = EINVAL;
	if (!error)
		cm_raise(id, RDMA_CM_EVENT_ROUTE_RESOLVED, 0, NULL, 0);
	return cm_answer(error);
}

/* --- connections --- */

static struct cm_id *cm_listener(struct cm_id *client)
{
	uint16_t port = ntohs(*cm_port(&client->ibv.route.addr.dst_addr));
	for (struct cm_id *id = cm_ids; id; id = id->next)
		if (id->backlog && id->port == port && id->ibv.ps == client->ibv.ps)
			return id;
	return NULL;
}

/* The number of the queue pair that an id connects or accepts with. */
static uint32_t cm_pair(struct cm_id *id) { return id->ibv.qp ? id->ibv.qp->qp_num : id->own_pair; }

API int rdma_connect(struct rdma_cm_id *which, struct rdma_conn_param *param)
{
	struct cm_id *id = (struct cm_id *)which;
	struct cm_device *its = cm_device_of(&id->ibv.route.addr.dst_addr); /* that of the request */
	int missing = use_device(its);
	int error = cm_enter("rdma_connect", id);
	if (!error)
		error = missing ? missing : id->peer || !id->device ? EINVAL : 0;
	struct cm_id *listener = error ? NULL : cm_listener(id);
	struct cm_id *request = listener && listener->waiting < listener->backlog
					? cm_new(listener->file, listener->ibv.ps, listener->ibv.context) : NULL;
	if (!request) {
		if (!error)
			cm_raise(id, RDMA_CM_EVENT_REJECTED, listener ? 28 : 8, NULL, 0);
		leave();
		if (!missing)
			leave_device(its);
		errno = error;
		return error ? -1 : 0;
	}
	request->is_request = 1;
	request->peer = id;
	id->peer = request;
	request->ibv.route.addr.src_storage = id->ibv.route.addr.dst_storage;
	request->ibv.route.addr.dst_storage = id->ibv.route.addr.src_storage;
	give_device(request, its);
	struct cm_event *event = cm_raise(listener, RDMA_CM_EVENT_CONNECT_REQUEST, 0, param ? param->private_data : NULL,
					  param ? param->private_data_len : 0);
	event->ibv.id = &request->ibv;
	event->ibv.listen_id = &listener->ibv;
	if (param) {
		event->ibv.param.conn.responder_resources = param->initiator_depth;
		event->ibv.param.conn.initiator_depth = param->responder_resources;
		id->own_pair = param->qp_num;
		event->ibv.param.conn.qp_num = cm_pair(id);
	}
	listener->waiting++;
	return cm_answer(0);
}

/* Makes a queue pair ready to send to another one. */
static void cm_ready(struct cm_id *id, struct cm_id *peer)
{
	if (!id->ibv.qp)
		return;
	struct fenced_qp *pair = (struct fenced_qp *)id->ibv.qp;
	if (cm_pair(peer))
		pair->attr.dest_qp_num = cm_pair(peer);
	id->ibv.qp->state = pair->attr.qp_state = IBV_QPS_RTS;
}

API int rdma_accept(struct rdma_cm_id *which, struct rdma_conn_param *param)
{
	struct cm_id *id = (struct cm_id *)which;
	int error = cm_enter("rdma_accept", id);
	struct cm_id *peer = id->peer;
	if (!error && (!peer || !id->is_request || id->connected))
		error = EINVAL;
	if (error)
		return cm_answer(error);
	id->connected = peer->connected = 1;
	id->own_pair = param ? param->qp_num : 0;
	cm_ready(id, peer);
	cm_ready(peer, id);
	progress_all();
	cm_raise(peer, peer->ibv.qp ? RDMA_CM_EVENT_ESTABLISHED : RDMA_CM_EVENT_CONNECT_RESPONSE, 0,
		 param ? param->private_data : NULL, param ? param->private_data_len : 0);
	if (peer->ibv.qp)
		cm_raise(id, RDMA_CM_EVENT_ESTABLISHED, 0, NULL, 0);
	return cm_answer(0);
}

API int rdma_establish(struct rdma_cm_id *which)
{
	struct cm_id *id = (struct cm_id *)which;
	int error = cm_enter("rdma_establish", id);
	if (!error && !id->peer)
		error = EINVAL;
	if (!error)
		cm_raise(id->peer, RDMA_CM_EVENT_ESTABLISHED, 0, NULL, 0);
	return cm_answer(error);
}

API int rdma_reject(struct rdma_cm_id *which, const void *data, uint8_t size)
{
	struct cm_id *id = (struct cm_id *)which;
	int error = cm_enter("rdma_reject", id);
	struct cm_id *peer = id->peer;
	if (!error && (!peer || !id->is_request || id->connected))
		error = EINVAL;
	if (error)
		return cm_answer(error);
	id->peer = peer->peer = NULL;
	cm_raise(peer, RDMA_CM_EVENT_REJECTED, 28, data, size);
	return cm_answer(0);
}

API int rdma_notify(struct rdma_cm_id *which, enum ibv_event_type event)
{
	(void)event;
	return cm_answer(cm_enter("rdma_notify", (struct cm_id *)which));
}

API int rdma_disconnect(struct rdma_cm_id *which)
{
	struct cm_id *id = (struct cm_id *)which;
	int error = cm_enter("rdma_disconnect", id);
	if (!error && !id->connected && !id->ibv.qp)
		error = EINVAL;
	if (error)
		return cm_answer(error);
	if (id->connected) {
		cm_part(id);
		cm_raise(id, RDMA_CM_EVENT_DISCONNECTED, 0, NULL, 0);
		id->connected = 0;
	}
	cm_fail_pair(id);
	return cm_answer(0);
}

/* --- queue pairs --- */

/* The kernel forgets a request when its peer leaves, and knows no attributes for a queue pair then. */
static int cm_forgotten(struct cm_id *id) { return id->is_request && !id->peer; }

static int cm_begin_pair(struct cm_id *id, struct ibv_qp *pair)
{
	if (!pair)
		return -1;
	if (cm_forgotten(id)) {
		ibv_destroy_qp(pair);
		errno = EINVAL;
		return -1;
	}
	struct ibv_qp_attr attributes = {
		.qp_state = id->ibv.qp_type == IBV_QPT_UD ? IBV_QPS_RTS : IBV_QPS_INIT, .qkey = RDMA_UDP_QKEY, .port_num = 1,
		.qp_access_flags = IBV_ACCESS_REMOTE_READ | IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_ATOMIC,
	};
	int error = ibv_modify_qp(pair, &attributes, IBV_QP_STATE | IBV_QP_PORT | IBV_QP_ACCESS_FLAGS | IBV_QP_QKEY);
	if (error) {
		ibv_destroy_qp(pair);
		errno = error;
		return -1;
	}
	id->ibv.qp = pair;
	return 0;
}

API int rdma_create_qp(struct rdma_cm_id *which, struct ibv_pd *pd, struct ibv_qp_init_attr *init)
{
	int error = cm_enter("rdma_create_qp", (struct cm_id *)which);
	if (error)
		return cm_answer(error);
	leave();
	return cm_begin_pair((struct cm_id *)which, ibv_create_qp(pd, init));
}

API int rdma_create_qp_ex(struct rdma_cm_id *which, struct ibv_qp_init_attr_ex *init)
{
	int error = cm_enter("rdma_create_qp_ex", (struct cm_id *)which);
	if (error)
		return cm_answer(error);
	leave();
	return cm_begin_pair((struct cm_id *)which, create_qp_ex(which->verbs, init));
}

API void rdma_destroy_qp(struct rdma_cm_id *which)
{
	enter("rdma_destroy_qp");
	leave();
	ibv_destroy_qp(which->qp);
	which->qp = NULL;
}

API int rdma_create_srq(struct rdma_cm_id *which, struct ibv_pd *pd, struct ibv_srq_init_attr *init)
{
	int error = cm_enter("rdma_create_srq", (struct cm_id *)which);
	if (error)
		return cm_answer(error);
	leave();
	which->srq = ibv_create_srq(pd, init);
	return which->srq ? 0 : -1;
}

API void rdma_destroy_srq(struct rdma_cm_id *which)
{
	enter("rdma_destroy_srq");
	leave();
	ibv_destroy_srq(which->srq);
	which->srq = NULL;
}

API int rdma_init_qp_attr(struct rdma_cm_id *which, struct ibv_qp_attr *attributes, int *mask)
{
	struct cm_id *id = (struct cm_id *)which;
	int error = cm_enter("rdma_init_qp_attr", id);
	if (!error && cm_forgotten(id))
		error = EINVAL;
	*mask = IBV_QP_STATE;
	if (attributes->qp_state == IBV_QPS_INIT) {
		attributes->port_num = 1;
		attributes->qp_access_flags = IBV_ACCESS_REMOTE_WRITE; /* and the rest once the peer has said how many it asks for */
		if (id->peer)
			attributes->qp_access_flags |= IBV_ACCESS_REMOTE_READ | IBV_ACCESS_REMOTE_ATOMIC;
		*mask |= IBV_QP_PORT | IBV_QP_PKEY_INDEX | IBV_QP_ACCESS_FLAGS;
	}
	if (attributes->qp_state == IBV_QPS_RTR && id->peer) {
		attributes->ah_attr.port_num = 1;
		attributes->path_mtu = IBV_MTU_4096;
		attributes->dest_qp_num = cm_pair(id->peer);
		attributes->max_dest_rd_atomic = 1;
		*mask |= IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_DEST_QPN | IBV_QP_RQ_PSN | IBV_QP_MAX_DEST_RD_ATOMIC |
			 IBV_QP_MIN_RNR_TIMER;
	}
	if (attributes->qp_state == IBV_QPS_RTS && id->peer) {
		attributes->max_rd_atomic = 1;
		*mask |= IBV_QP_TIMEOUT | IBV_QP_RETRY_CNT | IBV_QP_RNR_RETRY | IBV_QP_SQ_PSN | IBV_QP_MAX_QP_RD_ATOMIC;
	}
	return cm_answer(error);
}

/* --- groups --- */

static int cm_join(const char *function, struct rdma_cm_id *which)
{
	struct cm_id *id = (struct cm_id *)which;
	int error = cm_enter(function, id);
	if (error)
		return cm_answer(error);
	id->joined++;
	int lost = cm_fault("joined");
	if (lost >= 0) {
		struct cm_event *event = cm_raise(id, lost ? RDMA_CM_EVENT_MULTICAST_ERROR : RDMA_CM_EVENT_MULTICAST_JOIN, -lost,
						  NULL, 0);
		event->ibv.param.ud.private_data = event->private_data;
		event->ibv.param.ud.qp_num = 0xffffff;
		event->ibv.param.ud.qkey = RDMA_UDP_QKEY;
		event->ibv.param.ud.ah_attr.port_num = 1;
	}
	return cm_answer(0);
}

API int rdma_join_multicast(struct rdma_cm_id *which, struct sockaddr *address, void *context)
{
	(void)address, (void)context;
	return cm_join("rdma_join_multicast", which);
}

API int rdma_join_multicast_ex(struct rdma_cm_id *which, struct rdma_cm_join_mc_attr_ex *join, void *context)
{
	(void)join, (void)context;
	return cm_join("rdma_join_multicast_ex", which);
}

API int rdma_leave_multicast(struct rdma_cm_id *which, struct sockaddr *address)
{
	struct cm_id *id = (struct cm_id *)which;
	(void)address;
	int error = cm_enter("rdma_leave_multicast", id);
	if (!error && !id->joined)
		error = EADDRNOTAVAIL;
	if (!error)
		id->joined--;
	return cm_answer(error);
}

/* --- services --- */

API int rdma_getaddrinfo(const char *node, const char *service, const struct rdma_addrinfo *hints,
			 struct rdma_addrinfo **found)
{
	int error = enter("rdma_getaddrinfo");
	leave();
	struct sockaddr_in *address = always(1, sizeof(*address));
	address->sin_family = AF_INET;
	address->sin_port = htons((uint16_t)(service ? atoi(service) : 0));
	if (error || (node && inet_pton(AF_INET, node, &address->sin_addr) != 1)) {
		free(address);
		errno = error;
		return error ? -1 : EAI_NONAME;
	}
	struct rdma_addrinfo *info = always(1, sizeof(*info));
	info->ai_family = AF_INET;
	info->ai_flags = hints ? hints->ai_flags : 0;
	info->ai_port_space = hints && hints->ai_port_space ? hints->ai_port_space : RDMA_PS_TCP;
	info->ai_qp_type = info->ai_port_space == RDMA_PS_TCP ? IBV_QPT_RC : IBV_QPT_UD;
	if (info->ai_flags & RAI_PASSIVE) {
		info->ai_src_addr = (struct sockaddr *)address;
		info->ai_src_len = sizeof(*address);
	} else {
		info->ai_dst_addr = (struct sockaddr *)address;
		info->ai_dst_len = sizeof(*address);
	}
	*found = info;
	return 0;
}

API void rdma_freeaddrinfo(struct rdma_addrinfo *info)
{
	free(info->ai_src_addr);
	free(info->ai_dst_addr);
	free(info);
}

/* Its own channel goes when the id moves to another one, or with the id. */
API int rdma_create_ep(struct rdma_cm_id **made, struct rdma_addrinfo *info, struct ibv_pd *pd,
		       struct ibv_qp_init_attr *init)
{
	(void)pd, (void)init;
	int error = enter("rdma_create_ep");
	leave();
	if (error) {
		errno = error;
		return -1;
	}
	struct rdma_event_channel *own = rdma_create_event_channel();
	struct rdma_cm_id *id;
	rdma_create_id(own, &id, NULL, (enum rdma_port_space)info->ai_port_space);
	((struct cm_id *)id)->sync = 1;
	int failed = info->ai_src_addr ? rdma_bind_addr(id, info->ai_src_addr)
				       : rdma_resolve_addr(id, NULL, info->ai_dst_addr, 2000);
	struct rdma_cm_event *event;
	if (!failed && !info->ai_src_addr && !rdma_get_cm_event(own, &event))
		rdma_ack_cm_event(event);
	if (failed) {
		error = errno;
		rdma_destroy_id(id);
		errno = error;
	} else {
		*made = id;
	}
	return failed;
}

API void rdma_destroy_ep(struct rdma_cm_id *id) { rdma_destroy_id(id); }
