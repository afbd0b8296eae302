/*-------------------------------------------------------------------------
 *
 * setup.c
 *		What a cyclic join's node needs before it reads a row: domains of keys,
 *		relations, stores for the columns that go along, children's readers.
 *
 * Makes structures only, all in CurrentMemoryContext; reads nothing.
 *
 * IDENTIFICATION
 *		src/join/setup.c
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "executor/executor.h"
#include "utils/lsyscache.h"

#include "joinexec.h"

/* Sets up domains of values, and how keys of each variable are read. */
static void
init_variables(PpJoinState *state)
{
	const PpJoinPlan *plan = state->plan;

	state->domains = palloc0(plan->nvariables * sizeof(PpDomain *));
	state->variable_domain = palloc0(plan->nvariables * sizeof(PpDomain *));
	state->variable_read = palloc0(plan->nvariables * sizeof(PpKeyRead));
	for (int v = 0; v < plan->nvariables; v++)
	{
		const PpVariablePlan *variable = &plan->variables[v];
		PpDomain   *domain = NULL;
		int16		typlen;
		bool		typbyval;

		get_typlenbyval(variable->type, &typlen, &typbyval);
		state->variable_read[v] = parparaw_key_read(variable, typlen, typbyval);
		if (state->variable_read[v] != PP_READ_DOMAIN)
			continue;
		for (int d = 0; d < state->ndomains && domain == NULL; d++)
			if (state->domains[d]->kind == variable->kind &&
				state->domains[d]->type == variable->type &&
				state->domains[d]->collation == variable->collation)
				domain = state->domains[d];
		if (domain == NULL)
			domain = state->domains[state->ndomains++] =
				parparaw_domain_make(variable, state->context);
		state->variable_domain[v] = domain;
	}
}

/* How an atom reads a key. */
static PpSide
atom_side(PpJoinState *state, const PpAtomPlan *atom, int i)
{
	Form_pg_attribute att = TupleDescAttr(ExecGetResultType(state->children[atom->child].ps),
										  atom->resno[i] - 1);
	int			v = atom->variable[i];
	PpSide		side;

	side.resno = atom->resno[i];
	side.read = parparaw_key_read(&state->plan->variables[v], att->attlen, att->attbyval);
	side.domain = state->variable_domain[v];
	return side;
}

/*
 * Makes one relation of all atoms that read the same keys of the same child,
 * whichever of the two comes first.
 */
static void
init_relations(PpJoinState *state)
{
	const PpJoinPlan *plan = state->plan;

	state->relations = palloc0(plan->natoms * sizeof(PpRelation));
	state->atoms = palloc0(plan->natoms * sizeof(PpJoinAtom));
	for (int a = 0; a < plan->natoms; a++)
	{
		const PpAtomPlan *atom = &plan->atoms[a];
		bool		flip = atom->resno[1] < atom->resno[0];
		PpSide		side[2];
		PpRelation *relation = NULL;

		for (int i = 0; i < 2; i++)
		{
			side[i] = atom_side(state, atom, flip ? 1 - i : i);
			state->atoms[a].variable[i] = atom->variable[flip ? 1 - i : i];
		}
		for (int r = 0; r < state->nrelations && relation == NULL; r++)
		{
			PpRelation *other = &state->relations[r];

			if (other->child == atom->child &&
				other->side[0].resno == side[0].resno && other->side[0].read == side[0].read &&
				other->side[0].domain == side[0].domain &&
				other->side[1].resno == side[1].resno && other->side[1].read == side[1].read &&
				other->side[1].domain == side[1].domain)
				relation = other;
		}
		if (relation == NULL)
		{
			relation = &state->relations[state->nrelations];
			relation->number = state->nrelations++;
			relation->child = atom->child;
			relation->side[0] = side[0];
			relation->side[1] = side[1];
		}
		state->atoms[a].relation = relation->number;
	}
}

/*
 * Gives relations stores for the columns that the output takes from them, and
 * turns the output's column numbers into those of the stores.
 */
static void
init_stores(PpJoinState *state)
{
	PpJoinPlan *plan = state->plan;

	for (int r = 0; r < state->nrelations; r++)
	{
		PpRelation *relation = &state->relations[r];
		TupleDesc	desc = ExecGetResultType(state->children[relation->child].ps);
		AttrNumber *resno = palloc(plan->noutputs * sizeof(AttrNumber));
		int			n = 0;

		for (int o = 0; o < plan->noutputs; o++)
		{
			PpOutputPlan *output = &plan->outputs[o];
			int			i;

			if (output->kind != PP_OUTPUT_PAYLOAD ||
				state->atoms[output->number].relation != r)
				continue;
			for (i = 0; i < n && resno[i] != output->resno; i++)
				;
			if (i == n)
				resno[n++] = output->resno;
			output->resno = i + 1;
		}
		if (n > 0)
			relation->store = parparaw_store_make(desc, n, resno, state->context);
	}
	state->payload = palloc0(plan->natoms * sizeof(TupleTableSlot *));
	state->payload_at = palloc0(plan->natoms * sizeof(uint64));
	for (int o = 0; o < plan->noutputs; o++)
	{
		const PpOutputPlan *output = &plan->outputs[o];

		if (output->kind == PP_OUTPUT_PAYLOAD && state->payload[output->number] == NULL)
			state->payload[output->number] =
				parparaw_store_slot(state->relations[state->atoms[output->number].relation].store);
		if (output->kind == PP_OUTPUT_KEY && state->variable_domain[output->number])
			state->variable_domain[output->number]->named = true;
	}
}

static void
init_children(PpJoinState *state)
{
	for (int c = 0; c < state->nchildren; c++)
	{
		PpChild    *child = &state->children[c];

		child->relations = palloc(state->nrelations * sizeof(PpRelation *));
		for (int r = 0; r < state->nrelations; r++)
		{
			PpRelation *relation = &state->relations[r];

			if (relation->child != c)
				continue;
			child->relations[child->nrelations++] = relation;
			child->last = Max(child->last, relation->side[0].resno);
			child->last = Max(child->last, relation->side[1].resno);
			for (int i = 0; relation->store && i < relation->store->ncolumns; i++)
				child->last = Max(child->last, relation->store->resno[i]);
		}
		child->heap = parparaw_heap_reader(state, child);
		child->columns = parparaw_column_reader(state, child);
	}
}

void
parparaw_join_setup(PpJoinState *state)
{
	init_variables(state);
	init_relations(state);
	init_stores(state);
	init_children(state);
}
