"""Workloads and campaigns name their kind of question; estimates are `{kind, terms, table, extras}`"""

import json

import sqlalchemy as sa
from alembic import op

revision = "202611270010"
down_revision = "202611270000"
branch_labels = None
depends_on = None

_ESTIMATES = sa.table("estimates", sa.column("round_id", sa.Integer), sa.column("content", sa.LargeBinary))
_WORKLOADS = sa.table("workloads", sa.column("id"), sa.column("specification"), sa.column("kind"))
_CAMPAIGNS = sa.table("campaigns", sa.column("id"), sa.column("question"), sa.column("kind"))
_ROUNDS = sa.table("rounds", sa.column("campaign_id"), sa.column("index"), sa.column("device_digest"))
_REQUESTS = sa.table("plan_requests", sa.column("workload_id"), sa.column("device_digest"))


def upgrade() -> None:
    op.add_column("workloads", sa.Column("kind", sa.String(64), nullable=False, server_default="linear"))
    op.add_column("campaigns", sa.Column("kind", sa.String(64), nullable=True))
    kinds = _name_kinds_of_workloads()
    _name_kinds_of_campaigns(kinds)
    _rewrite(_with_table, sort_keys=False)


def downgrade() -> None:
    _rewrite(_without_table, sort_keys=True)
    for name in ("campaigns", "workloads"):
        op.drop_column(name, "kind")


def _name_kinds_of_workloads():
    connection, kinds = op.get_bind(), {}
    for workload in connection.scalars(sa.select(_WORKLOADS.c.id)).all():
        chosen = _WORKLOADS.c.id == workload
        asked = json.loads(connection.scalar(sa.select(_WORKLOADS.c.specification).where(chosen)))
        queries = asked.get("queries")
        # An attribute may be called "label", too: a class of rules has an object there.
        of_class = isinstance(queries, dict) and isinstance(queries.get("label"), dict) and "scheme" not in queries
        of_queries = "concepts" if of_class else "linear"
        kinds[workload] = "pairwise" if "statistic" in asked else of_queries
        connection.execute(_WORKLOADS.update().where(chosen).values(kind=kinds[workload]))
    return kinds


def _name_kinds_of_campaigns(kinds):
    """By the workload of the campaign's question, or of the plan of its first round; a collector has neither."""
    connection = op.get_bind()
    for campaign, question in connection.execute(sa.select(_CAMPAIGNS.c.id, _CAMPAIGNS.c.question)).all():
        if question is not None:
            workload = json.loads(question)["workload"]
        else:
            first = sa.select(_ROUNDS.c.device_digest).where(_ROUNDS.c.campaign_id == campaign, _ROUNDS.c.index == 0)
            planned = sa.select(_REQUESTS.c.workload_id).where(_REQUESTS.c.device_digest.in_(first))
            workload = connection.scalar(planned.limit(1))
        if workload in kinds:
            connection.execute(_CAMPAIGNS.update().where(_CAMPAIGNS.c.id == campaign).values(kind=kinds[workload]))


def _rewrite(change, sort_keys):
    connection = op.get_bind()
    for number in connection.scalars(sa.select(_ESTIMATES.c.round_id)).all():
        chosen = _ESTIMATES.c.round_id == number
        document = change(json.loads(connection.scalar(sa.select(_ESTIMATES.c.content).where(chosen))))
        text = json.dumps(document, sort_keys=sort_keys, separators=(",", ":"), ensure_ascii=False, allow_nan=False)
        connection.execute(_ESTIMATES.update().where(chosen).values(content=text.encode()))


def _with_table(old):
    kind = old["kind"]
    if "table" in old:
        return old
    rows = {"linear": _queries, "pairwise": _statistic, "concepts": _rules}[kind](old)
    terms = {
        "campaign_id": old["campaign"],
        "users": old["users"],
        **_own_terms(kind, old),
        "epsilon": old["epsilon"],
        "level": old["level"],
        "bias_bound": old["bias_bound"],
        "target": old["target"],
        "validity": old["validity"],
        "mechanism": old["protocol"]["name"] if kind == "pairwise" else old["mechanism"],
        **({"protocol_digest": old["protocol"]["digest"]} if kind == "pairwise" else _plan(old["plan"])),
    }
    extras = {name: old[name] for name in ("warnings", "sources", *_EXTRAS[kind]) if name in old}
    if kind == "pairwise":
        extras["rounds"] = [
            {**{name: value for name, value in each.items() if name != "plan"}, **_plan(each["plan"])}
            for each in old["rounds"]
        ]
    names = list(dict.fromkeys(name for row in rows for name in row))
    bounds = [name for name in names if name.endswith(_BOUNDS) and name not in _COLUMNS]
    ordered = [each for name in _COLUMNS for each in ([name] if name in names else []) + (bounds * (name == "label"))]
    table = {name: [row.get(name) for row in rows] for name in ordered}
    return {"kind": kind, "terms": terms, "table": table, "extras": extras}


_BOUNDS = ("_low", "_high", "_label", "_unit")
# In the order of tables of answers.
_COLUMNS = (
    *("kind", "label", "unit", "value", "uncut", "standard_error", "lower", "upper", "band_lower", "band_upper"),
    *("population_standard_error", "population_lower", "population_upper", "consistent", "coverage"),
    *("population_coverage", "enough_reports", "width", "may_be_best"),
)
_EXTRAS = {
    "linear": ("workload", "objective", "unbiased", "predicted_rmse_max"),
    "pairwise": ("rounds", "unbiased", "forms", "clipped", "predicted_rmse"),
    "concepts": (
        *("workload", "rule", "loss", "band", "interval", "certified_by_round", "base", "excess_at_most"),
        *("beats_base", "statement", "confidence_set"),
    ),
}


def _plan(digests):
    return {"plan_device": digests["device"], "plan_analyst": digests["analyst"]}


def _own_terms(kind, old):
    if kind == "linear":
        return {"unlisted": old["unlisted"], "compared": old["compared"]}
    if kind == "pairwise":
        return {"users_by_round": " ".join(str(each["users"]) for each in old["rounds"])}
    return {"users_by_round": " ".join(map(str, old["users_by_round"])), "compared": old["concepts"]}


def _ends(prefix, interval):
    return {f"{prefix}lower": interval[0], f"{prefix}upper": interval[1]}


def _queries(old):
    return [_query(each) for each in old["queries"]]


def _query(each):
    bounds = {
        f"{bound['attribute']}_{part}": bound[part]
        for bound in each.get("bounds", ())
        for part in ("low", "high", "label", "unit")
        if bound[part] is not None
    }
    law = each.get("coverage")
    known = (
        {}
        if law is None
        else {
            "coverage": law["interval"],
            "population_coverage": law["population_interval"],
            "enough_reports": law["enough_reports"],
        }
    )
    return {
        "kind": each.get("kind") or None,
        "label": each["label"],
        **bounds,
        "unit": each.get("unit", "share") or None,
        "value": each["value"],
        "uncut": each.get("uncut"),
        "standard_error": each["standard_error"],
        **_ends("", each["interval"]),
        **_ends("band_", each["band"]),
        "population_standard_error": each["population_standard_error"],
        **_ends("population_", each["population_interval"]),
        "consistent": each["consistent"],
        **known,
    }


def _statistic(old):
    return [
        {
            "kind": "statistic",
            "label": old["statistic"],
            "value": old["value"],
            "standard_error": old["standard_error"],
            **_ends("", old["interval"]),
            "population_standard_error": old["population_standard_error"],
            **_ends("population_", old["population_interval"]),
        }
    ]


def _rules(old):
    """Every rule by number where their texts are known, else those that were listed, the least losses first."""
    texts = {each["rule"]["number"]: each for each in old["rules"]}
    if len(texts) == old["concepts"]:
        return [_rule(texts[number]) for number in sorted(texts)]
    every, of_class = old["all_losses"], old["class_of_rules"]
    if every is None or of_class.get("texts") is None:
        return [_rule(each) for each in old["rules"]]
    names = zip(of_class["texts"], of_class["widths"], strict=True)
    columns = zip(every["loss"], every["standard_error"], every["band_reach"], every["may_be_best"], strict=True)
    return [
        _rule(
            {
                "rule": {"text": text, "width": width},
                "loss": loss,
                "standard_error": error,
                "band": [loss - reach, loss + reach],
                "may_be_best": best,
            }
        )
        for (text, width), (loss, error, reach, best) in zip(names, columns, strict=True)
    ]


def _rule(each):
    return {
        "kind": "concept",
        "label": each["rule"]["text"],
        "value": each["loss"],
        **_ends("band_", each["band"]),
        "population_standard_error": each["standard_error"],
        "width": each["rule"]["width"],
        "may_be_best": each["may_be_best"],
    }


def _without_table(new):
    """The former document of linear queries and of statistics; that of rules stays, which no earlier version reads."""
    if new["kind"] == "concepts":
        return new
    terms, extras = new["terms"], new["extras"]
    old = {
        "kind": new["kind"],
        "campaign": terms["campaign_id"],
        **{name: value for name, value in terms.items() if name in _KEPT_TERMS},
        **extras,
    }
    rows = [dict(zip(new["table"], row, strict=True)) for row in zip(*new["table"].values(), strict=True)]
    if new["kind"] == "linear":
        plan = {"device": terms["plan_device"], "analyst": terms["plan_analyst"]}
        named = {"mechanism": terms["mechanism"], "unlisted": terms["unlisted"], "compared": terms["compared"]}
        return {**old, **named, "plan": plan, "rounds": [0], "queries": [_old_query(row) for row in rows]}
    row = rows[0]
    return {
        **old,
        "protocol": {"name": terms["mechanism"], "digest": terms["protocol_digest"]},
        "rounds": [_old_round(each) for each in extras["rounds"]],
        "statistic": row["label"],
        **_old_errors(row),
        "value": row["value"],
    }


_KEPT_TERMS = ("users", "epsilon", "level", "bias_bound", "target", "validity")


def _old_round(each):
    plan = {"device": each["plan_device"], "analyst": each["plan_analyst"]}
    kept = {name: value for name, value in each.items() if not name.startswith("plan_")}
    return {**kept, "plan": plan}


def _old_errors(row):
    return {
        "standard_error": row["standard_error"],
        "interval": [row["lower"], row["upper"]],
        "population_standard_error": row["population_standard_error"],
        "population_interval": [row["population_lower"], row["population_upper"]],
    }


def _old_query(row):
    bounds = {}
    for name, cell in row.items():
        if name not in _COLUMNS and cell is not None:
            attribute, _, part = name.rpartition("_")
            nothing = dict.fromkeys(("low", "high", "label", "unit"))
            bounds.setdefault(attribute, {"attribute": attribute, **nothing})[part] = cell
    law = (
        None
        if row.get("coverage") is None
        else {
            "interval": row["coverage"],
            "population_interval": row["population_coverage"],
            "enough_reports": row["enough_reports"],
        }
    )
    return {
        "label": row["label"],
        "kind": row["kind"] or "",
        "bounds": list(bounds.values()),
        "unit": row["unit"] or "",
        "value": row["value"],
        "uncut": row["uncut"],
        **_old_errors(row),
        "band": [row["band_lower"], row["band_upper"]],
        "consistent": row["consistent"],
        "coverage": law,
    }
