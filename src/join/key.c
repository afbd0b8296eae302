/*-------------------------------------------------------------------------
 *
 * key.c
 *		Codes of join keys: 64-bit numbers that are equal if, and only if, the
 *		keys are.
 *
 * Numbers are their own codes.  Other values are numbered as they come, by a
 * hash table that also knows the way back.  Owns those tables; knows nothing
 * of rows.
 *
 * IDENTIFICATION
 *		src/join/key.c
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/tupmacs.h"
#include "catalog/pg_type.h"
#include "common/hashfn.h"
#include "utils/lsyscache.h"
#include "utils/memutils.h"
#include "utils/typcache.h"

#include "joinexec.h"

#define LEAST_SLOTS		64
#define LEAST_BYTES		1024

PpKeyRead
parparaw_key_read(const PpVariablePlan *variable, int16 typlen, bool typbyval)
{
	if (variable->kind == PP_KEY_IMAGE || variable->kind == PP_KEY_EQUAL)
		return PP_READ_DOMAIN;
	if (!typbyval)
		elog(ERROR, "join key of type %u is not passed by value", variable->type);
	switch (typlen)
	{
		case 1:
			/* bool; and "char", which compares as an unsigned number */
			return PP_READ_UINT8;
		case 2:
			return PP_READ_INT16;
		case 4:
			return variable->kind == PP_KEY_UINT ? PP_READ_UINT32 : PP_READ_INT32;
		case 8:
			return variable->kind == PP_KEY_UINT ? PP_READ_UINT64 : PP_READ_INT64;
		default:
			elog(ERROR, "join key of type %u has length %d", variable->type, typlen);
	}
}

PpDomain *
parparaw_domain_make(const PpVariablePlan *variable, MemoryContext context)
{
	PpDomain   *domain = MemoryContextAllocZero(context, sizeof(PpDomain));

	domain->kind = variable->kind;
	domain->type = variable->type;
	domain->collation = variable->collation;
	domain->context = context;
	get_typlenbyval(variable->type, &domain->typlen, &domain->typbyval);
	if (domain->kind == PP_KEY_EQUAL)
	{
		TypeCacheEntry *entry = lookup_type_cache(variable->type,
												  TYPECACHE_HASH_PROC | TYPECACHE_EQ_OPR);

		if (!OidIsValid(entry->hash_proc) || !OidIsValid(entry->eq_opr))
			elog(ERROR, "join key of type %u cannot be hashed", variable->type);
		fmgr_info_cxt(entry->hash_proc, &domain->hash, context);
		fmgr_info_cxt(get_opcode(entry->eq_opr), &domain->equal, context);
	}
	return domain;
}

void
parparaw_domain_forget(PpDomain *domain)
{
	if (domain->slots)
	{
		pfree(domain->slots);
		pfree(domain->hashes);
		pfree(domain->at);
		pfree(domain->data);
	}
	domain->slots = domain->hashes = NULL;
	domain->at = NULL;
	domain->data = NULL;
	domain->n = domain->mask = domain->room = 0;
	domain->used = domain->size = 0;
}

/* Forgets all values; what a spill left is forgotten, too. */
void
parparaw_domain_reset(PpDomain *domain)
{
	parparaw_domain_forget(domain);
	if (domain->sort)
		tuplesort_end(domain->sort);
	domain->sort = NULL;
	if (domain->file)
		BufFileClose(domain->file);
	domain->file = NULL;
}

Size
parparaw_domain_bytes(const PpDomain *domain)
{
	if (domain->slots == NULL)
		return 0;
	return ((Size) domain->mask + 1) * sizeof(uint32) +
		(Size) domain->room * (sizeof(uint32) + sizeof(uint64)) + domain->size;
}

Size
parparaw_domain_growth(const PpDomain *domain, uint32 n)
{
	Size		bytes = 0;
	Size		value = domain->n ? domain->used / domain->n : 16;

	/* a table of twice the size beside the old one */
	if (domain->n + n >= (domain->mask + 1) / 4 * 3)
		bytes += 2 * ((Size) domain->mask + 1) * sizeof(uint32);
	if (domain->n + n > domain->room)
		bytes += 2 * (Size) domain->room * (sizeof(uint32) + sizeof(uint64));
	if (domain->used + n * value > domain->size)
		bytes += Max(2 * domain->size, domain->used + n * value);
	return bytes;
}

Datum
parparaw_domain_value(const PpDomain *domain, int64 code)
{
	const char *at = domain->data + domain->at[code];

	return domain->typbyval ? *(const Datum *) at : PointerGetDatum(at);
}

/* Makes the table, or one of twice the size. */
static void
grow_slots(PpDomain *domain)
{
	uint32		mask = domain->slots ? 2 * domain->mask + 1 : LEAST_SLOTS - 1;
	uint32	   *slots;

	if (domain->n >= PP_JOIN_MAX_ROWS)
		ereport(ERROR,
				(errcode(ERRCODE_PROGRAM_LIMIT_EXCEEDED),
				 errmsg("too many different join keys")));
	slots = MemoryContextAllocExtended(domain->context, ((Size) mask + 1) * sizeof(uint32),
									   MCXT_ALLOC_HUGE | MCXT_ALLOC_ZERO);
	for (uint32 i = 0; i < domain->n; i++)
	{
		uint32		at = domain->hashes[i] & mask;

		while (slots[at])
			at = (at + 1) & mask;
		slots[at] = i + 1;
	}
	if (domain->slots)
		pfree(domain->slots);
	domain->slots = slots;
	domain->mask = mask;
}

/* Keeps a value, as it will be returned, under the next number. */
static void
keep(PpDomain *domain, uint32 hash, const char *bytes, Size len, bool header)
{
	Size		need = MAXALIGN(len + (header ? VARHDRSZ : 0));
	char	   *to;

	if (domain->n == domain->room)
	{
		if (domain->room == 0)
		{
			domain->room = LEAST_SLOTS;
			domain->hashes = MemoryContextAlloc(domain->context,
												domain->room * sizeof(uint32));
			domain->at = MemoryContextAlloc(domain->context,
											domain->room * sizeof(uint64));
		}
		else
		{
			domain->room *= 2;
			domain->hashes = repalloc_huge(domain->hashes,
										   (Size) domain->room * sizeof(uint32));
			domain->at = repalloc_huge(domain->at,
									   (Size) domain->room * sizeof(uint64));
		}
	}
	if (domain->used + need > domain->size)
	{
		uint64		size = Max(domain->used + need, 2 * domain->size);

		size = Max(size, LEAST_BYTES);
		domain->data = domain->data ? repalloc_huge(domain->data, size) :
			MemoryContextAllocExtended(domain->context, size, MCXT_ALLOC_HUGE);
		domain->size = size;
	}
	to = domain->data + domain->used;
	if (header)
	{
		SET_VARSIZE(to, len + VARHDRSZ);
		to += VARHDRSZ;
	}
	memcpy(to, bytes, len);
	domain->hashes[domain->n] = hash;
	domain->at[domain->n] = domain->used;
	domain->used += need;
	domain->n++;
}

/* Number of a value by its bytes. */
static int64
image_code(PpDomain *domain, const char *bytes, Size len)
{
	uint32		hash = hash_bytes((const unsigned char *) bytes, (int) len);
	bool		varlena = domain->typlen == -1;
	uint32		at;

	for (at = hash & domain->mask; domain->slots[at]; at = (at + 1) & domain->mask)
	{
		uint32		number = domain->slots[at] - 1;
		const char *other = domain->data + domain->at[number];

		if (domain->hashes[number] != hash)
			continue;
		if (varlena)
		{
			if (VARSIZE(other) - VARHDRSZ != len)
				continue;
			other += VARHDRSZ;
		}
		if (memcmp(other, bytes, len) == 0)
			return number;
	}
	keep(domain, hash, bytes, len, varlena);
	domain->slots[at] = domain->n;
	return domain->n - 1;
}

/* Number of a value by the type's functions. */
static int64
equal_code(PpDomain *domain, Datum value)
{
	uint32		hash = DatumGetUInt32(FunctionCall1Coll(&domain->hash, domain->collation,
														value));
	uint32		at;

	for (at = hash & domain->mask; domain->slots[at]; at = (at + 1) & domain->mask)
	{
		uint32		number = domain->slots[at] - 1;

		if (domain->hashes[number] == hash &&
			DatumGetBool(FunctionCall2Coll(&domain->equal, domain->collation,
										   parparaw_domain_value(domain, number), value)))
			return number;
	}
	if (domain->typbyval)
		keep(domain, hash, (const char *) &value, sizeof(Datum), false);
	else if (domain->typlen == -1)
		keep(domain, hash, VARDATA(DatumGetPointer(value)),
			 VARSIZE(DatumGetPointer(value)) - VARHDRSZ, true);
	else
		keep(domain, hash, DatumGetPointer(value), domain->typlen, false);
	domain->slots[at] = domain->n;
	return domain->n - 1;
}

/*
 * May leave a detoasted copy in CurrentMemoryContext.
 */
int64
parparaw_domain_code(PpDomain *domain, Datum value)
{
	if (domain->slots == NULL || domain->n >= (domain->mask + 1) / 4 * 3)
		grow_slots(domain);
	if (domain->kind == PP_KEY_EQUAL)
		return equal_code(domain, domain->typlen == -1 ?
						  PointerGetDatum(PG_DETOAST_DATUM(value)) : value);
	if (domain->typbyval)
		return image_code(domain, (const char *) &value, sizeof(Datum));
	if (domain->typlen == -1)
	{
		struct varlena *packed = PG_DETOAST_DATUM_PACKED(value);

		return image_code(domain, VARDATA_ANY(packed), VARSIZE_ANY_EXHDR(packed));
	}
	return image_code(domain, DatumGetPointer(value), domain->typlen);
}
