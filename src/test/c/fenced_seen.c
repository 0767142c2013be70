/*
 * A part of fenced.c: what the library asked for, so that tests can compare each field with what a program said. The
 * requests that were posted last are kept, and the attributes of some calls.
 */

/* --- attributes --- */

enum { NOTES = 64 };

static struct note {
	char name[48];
	uint64_t value;
} notes[NOTES];

/* Keeps the latest value of an attribute. The lock is held. */
static void note(const char *name, uint64_t value)
{
	int i = 0;
	while (i < NOTES && *notes[i].name && strcmp(notes[i].name, name))
		i++;
	if (i == NOTES)
		abort();
	snprintf(notes[i].name, sizeof(notes[i].name), "%s", name);
	notes[i].value = value;
}

/* The latest value of an attribute; all ones if there was none. */
API uint64_t fenced_noted(const char *name)
{
	uint64_t value = UINT64_MAX;
	pthread_mutex_lock(&big);
	for (int i = 0; i < NOTES; i++)
		if (!strcmp(notes[i].name, name))
			value = notes[i].value;
	leave();
	return value;
}

/* --- requests --- */

enum { KEPT = 16 };

static struct posted {
	struct ibv_send_wr send; /* begins like a struct ibv_recv_wr */
	struct ibv_sge pieces[16];
	char data[256]; /* inline data, or a header for segments */
	uint32_t queue; /* the number of the queue pair; 0 for a shared receive queue and a work queue */
	uint32_t extended; /* 1 if it was built by ibv_wr_... */
} kept[KEPT];
static unsigned kept_count;

static struct posted *keep(uint32_t queue, const struct ibv_sge *list, int count)
{
	struct posted *posted = &kept[kept_count++ % KEPT];
	*posted->data = 0;
	posted->extended = 0;
	posted->queue = queue;
	for (int i = 0; i < count && i < 16; i++)
		posted->pieces[i] = list[i];
	return posted;
}

static void keep_send(struct fenced_qp *qp, const struct ibv_send_wr *wr)
{
	struct posted *posted = keep(qp->ibv.qp_base.qp_num, wr->sg_list, wr->num_sge);
	posted->send = *wr;
	posted->extended = wr >= qp->building && wr < qp->building + 256;
	if (wr->send_flags & IBV_SEND_INLINE) {
		size_t at = 0;
		for (int i = 0; i < wr->num_sge && at + wr->sg_list[i].length <= sizeof(posted->data); i++) {
			memcpy(posted->data + at, (void *)wr->sg_list[i].addr, wr->sg_list[i].length);
			at += wr->sg_list[i].length;
		}
	} else if (wr->opcode == IBV_WR_TSO) {
		memcpy(posted->data, wr->tso.hdr, wr->tso.hdr_sz);
	}
}

static void keep_receive(uint32_t queue, const struct ibv_recv_wr *wr)
{
	struct posted *posted = keep(queue, wr->sg_list, wr->num_sge);
	posted->send.wr_id = wr->wr_id;
	posted->send.num_sge = wr->num_sge;
}

/* The nth latest request that was posted, counted from 1; null if there was none. */
API const struct posted *fenced_posted(int nth)
{
	return nth > KEPT || (unsigned)nth > kept_count ? NULL : &kept[(kept_count - (unsigned)nth) % KEPT];
}

/* The offsets of the fields of a struct posted: pieces, data, queue, extended. */
API size_t fenced_posted_offset(int field)
{
	static const size_t offsets[] = {
		offsetof(struct posted, pieces), offsetof(struct posted, data), offsetof(struct posted, queue),
		offsetof(struct posted, extended),
	};
	return offsets[field];
}
