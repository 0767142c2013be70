/*
 * A part of fenced.c: functions that rdma-core 44 lacks. The headers of older releases do not declare them, so the structs have
 * names of their own here, and the functions get their names by asm labels.
 */

/* --- hints for the bus --- */

struct fenced_dmah {
	struct ibv_context *context;
	int users;
};

API struct fenced_dmah *fenced_alloc_dmah(struct ibv_context *context, void *init) __asm__("ibv_alloc_dmah");
API struct fenced_dmah *fenced_alloc_dmah(struct ibv_context *context, void *init)
{
	int error = enter("ibv_alloc_dmah");
	keep_given("ibv_alloc_dmah", init, 12); /* struct ibv_dmah_init_attr */
	if (error)
		return refuse(error);
	struct fenced_dmah *dmah = make(DMAH, sizeof(*dmah));
	if (!dmah)
		return refuse(ENOMEM);
	dmah->context = context;
	of(context)->users++;
	leave();
	return dmah;
}

API int fenced_dealloc_dmah(struct fenced_dmah *dmah) __asm__("ibv_dealloc_dmah");
API int fenced_dealloc_dmah(struct fenced_dmah *dmah)
{
	int error = enter("ibv_dealloc_dmah");
	if (error || dmah->users)
		return answer(error ? error : EBUSY);
	of(dmah->context)->users--;
	unmake(DMAH, dmah, sizeof(*dmah));
	return answer(0);
}

/* --- memory that the driver allocates, and registration with all its fields --- */

struct fenced_buf {
	struct fenced_pd *pd;
	char *memory;
	size_t size;
	int descriptor; /* -1 for plain memory */
	int users;
};

struct fenced_mr_init {
	size_t length;
	int access;
	uint64_t mask, iova;
	void *memory;
	int descriptor;
	uint64_t offset;
	struct fenced_dmah *dmah;
	struct fenced_buf *buf;
};

enum { MASK_IOVA = 1, MASK_ADDR = 2, MASK_FD = 4, MASK_FD_OFFSET = 8, MASK_DMAH = 16, MASK_BUF = 32 };

API void *fenced_alloc_buf(struct ibv_pd *ibpd, size_t size, struct fenced_buf **made) __asm__("ibv_alloc_buf");
API void *fenced_alloc_buf(struct ibv_pd *ibpd, size_t size, struct fenced_buf **made)
{
	int error = enter("ibv_alloc_buf");
	char *memory = error || size > 1ul << 32 ? NULL : pages(size);
	if (!error && !memory)
		error = ENOMEM;
	if (error)
		return refuse(error);
	struct fenced_buf *buf = make(BUF, sizeof(*buf));
	if (!buf)
		return refuse(ENOMEM);
	memset(memory, 0x5a, size); /* C promises no zeros */
	buf->pd = (struct fenced_pd *)ibpd;
	buf->memory = memory;
	buf->size = size;
	buf->descriptor = buf->pd->unprotected ? eventfd(0, EFD_CLOEXEC) : -1;
	buf->pd->users++;
	*made = buf;
	leave();
	return memory;
}

API void fenced_free_buf(struct fenced_buf *buf) __asm__("ibv_free_buf");
API void fenced_free_buf(struct fenced_buf *buf)
{
	(void)enter("ibv_free_buf");
	if (buf->users)
		violate("ibv_free_buf of a buffer with %d regions", buf->users);
	if (buf->descriptor >= 0)
		close(buf->descriptor);
	buf->pd->users--;
	fence(buf->memory, buf->size);
	unmake(BUF, buf, sizeof(*buf));
	leave();
}

API int fenced_export_buf(struct fenced_buf *buf) __asm__("ibv_export_buf_dmabuf_fd");
API int fenced_export_buf(struct fenced_buf *buf)
{
	int error = enter("ibv_export_buf_dmabuf_fd");
	int descriptor = error || buf->descriptor < 0 ? -1 : fcntl(buf->descriptor, F_DUPFD_CLOEXEC, 0);
	leave();
	errno = error ? error : ENODATA;
	return descriptor;
}

static int wrong_init(struct ibv_pd *pd, const struct fenced_mr_init *init)
{
	uint64_t source = init->mask & (MASK_ADDR | MASK_FD | MASK_FD_OFFSET | MASK_BUF);
	if (init->mask & MASK_DMAH && init->dmah->context != pd->context)
		return EINVAL;
	if (source == (MASK_FD | MASK_FD_OFFSET))
		return !(init->mask & MASK_IOVA) ? EINVAL : fcntl(init->descriptor, F_GETFD) < 0 ? EBADF : 0;
	if (source == MASK_ADDR)
		return 0;
	if (source != (MASK_ADDR | MASK_BUF) || init->buf->pd != (struct fenced_pd *)pd)
		return EINVAL;
	char *start = init->memory;
	if (start < init->buf->memory || start + init->length > init->buf->memory + init->buf->size)
		return EINVAL;
	return init->buf->descriptor >= 0 && init->mask & MASK_IOVA ? EINVAL : 0;
}

static struct ibv_mr *register_by(const char *function, struct ibv_pd *pd, const struct fenced_mr_init *init)
{
	int error = enter(function);
	keep_given(function, init, sizeof(*init));
	if (!error)
		error = wrong_init(pd, init);
	char *memory = init->mask & MASK_ADDR ? init->memory : error ? NULL : pages(init->length);
	if (error)
		return refuse(error);
	uint64_t iova = init->mask & MASK_IOVA ? init->iova : (uintptr_t)memory;
	struct fenced_mr *mr = new_mr(pd, memory, init->length, iova, init->access);
	if (!mr)
		return refuse(ENOMEM);
	if (init->mask & MASK_DMAH) {
		mr->dmah_users = &init->dmah->users;
		init->dmah->users++;
	}
	if (init->mask & MASK_BUF) {
		mr->more_users = &init->buf->users;
		init->buf->users++;
	}
	add_span(mr);
	leave();
	return &mr->ibv;
}

API struct ibv_mr *fenced_reg_mr_ex(struct ibv_pd *pd, struct fenced_mr_init *init) __asm__("ibv_reg_mr_ex");
API struct ibv_mr *fenced_reg_mr_ex(struct ibv_pd *pd, struct fenced_mr_init *init)
{
	return register_by("ibv_reg_mr_ex", pd, init);
}

API struct ibv_mr *fenced_reg_buf_mr(struct ibv_pd *pd, struct fenced_buf *buf, void *memory, size_t length, int access)
	__asm__("ibv_reg_buf_mr");
API struct ibv_mr *fenced_reg_buf_mr(struct ibv_pd *pd, struct fenced_buf *buf, void *memory, size_t length, int access)
{
	struct fenced_mr_init init = {
		.length = length, .access = access, .mask = MASK_ADDR | MASK_BUF, .memory = memory, .buf = buf,
	};
	return register_by("ibv_reg_buf_mr", pd, &init);
}

/* --- completion counters --- */

struct fenced_counter {
	struct ibv_context *context;
	uint32_t handle;
	uint32_t unit; /* 0 for requests, 1 for bytes */
	uint64_t values[2]; /* of successes, of errors */
	int users;
};

/* Adds a completed operation to the counters of a queue pair. */
static void count(struct fenced_qp *qp, int operation, enum ibv_wc_status status, uint64_t bytes)
{
	for (int i = 0; i < COUNTED; i++) {
		struct fenced_counter *counter = qp->counters[i];
		if (counter && operation == 1 << i)
			counter->values[status != IBV_WC_SUCCESS] += counter->unit ? bytes : 1;
	}
}

API int fenced_query_counters(struct ibv_context *context, void *caps, size_t size) __asm__("_ibv_query_comp_cntr_caps");
API int fenced_query_counters(struct ibv_context *context, void *caps, size_t size)
{
	struct { uint64_t max_value; uint32_t max_counters, operations; } it = { UINT64_MAX - 1, 1000, (1 << COUNTED) - 1 };
	(void)context;
	int error = enter("ibv_query_comp_cntr_caps");
	if (!error)
		memcpy(caps, &it, size < sizeof(it) ? size : sizeof(it));
	return answer(error);
}

API struct fenced_counter *fenced_create_counter(struct ibv_context *context, const uint32_t *init)
	__asm__("ibv_create_comp_cntr");
API struct fenced_counter *fenced_create_counter(struct ibv_context *context, const uint32_t *init)
{
	int error = enter("ibv_create_comp_cntr");
	if (!error && (init[0] || init[1] > 1 || init[2]))
		error = EINVAL;
	if (error)
		return refuse(error);
	struct fenced_counter *counter = make(COUNTER, sizeof(*counter));
	if (!counter)
		return refuse(ENOMEM);
	counter->context = context;
	counter->handle = next_handle++;
	counter->unit = init[1];
	of(context)->users++;
	leave();
	return counter;
}

API int fenced_destroy_counter(struct fenced_counter *counter) __asm__("ibv_destroy_comp_cntr");
API int fenced_destroy_counter(struct fenced_counter *counter)
{
	int error = enter("ibv_destroy_comp_cntr");
	if (error || counter->users)
		return answer(error ? error : EBUSY);
	of(counter->context)->users--;
	unmake(COUNTER, counter, sizeof(*counter));
	return answer(0);
}

API int fenced_attach_counter(struct ibv_qp *ibqp, struct fenced_counter *counter, const uint32_t *how)
	__asm__("ibv_qp_attach_comp_cntr");
API int fenced_attach_counter(struct ibv_qp *ibqp, struct fenced_counter *counter, const uint32_t *how)
{
	struct fenced_qp *qp = (struct fenced_qp *)ibqp;
	uint32_t operations = how[1];
	int error = enter("ibv_qp_attach_comp_cntr");
	if (!error && (how[0] || !operations || operations >= 1 << COUNTED || counter->context != ibqp->context ||
		       ibqp->state > IBV_QPS_INIT))
		error = EINVAL;
	for (int i = 0; i < COUNTED && !error; i++)
		if (operations & 1 << i && qp->counters[i])
			error = EBUSY;
	for (int i = 0; i < COUNTED && !error; i++) {
		if (operations & 1 << i) {
			qp->counters[i] = counter;
			counter->users++;
		}
	}
	return answer(error);
}

static void detach_counters(struct fenced_qp *qp)
{
	for (int i = 0; i < COUNTED; i++)
		if (qp->counters[i])
			qp->counters[i]->users--;
}

#define COUNTER_CALL(name, argument, statement) \
	API int fenced_##name(struct fenced_counter *counter, argument) __asm__("ibv_" #name "_comp_cntr"); \
	API int fenced_##name(struct fenced_counter *counter, argument) \
	{ \
		int error = enter("ibv_" #name "_comp_cntr"); \
		if (!error) \
			statement; \
		return answer(error); \
	}

COUNTER_CALL(set, uint64_t value, counter->values[0] = value)
COUNTER_CALL(set_err, uint64_t value, counter->values[1] = value)
COUNTER_CALL(inc, uint64_t amount, counter->values[0] += amount)
COUNTER_CALL(inc_err, uint64_t amount, counter->values[1] += amount)
COUNTER_CALL(read, uint64_t *value, *value = counter->values[0])
COUNTER_CALL(read_err, uint64_t *value, *value = counter->values[1])
