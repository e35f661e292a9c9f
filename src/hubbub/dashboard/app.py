"""The application of `hubbub serve`: the routes of the collector and of the dashboard."""

from __future__ import annotations

import asyncio

from fastapi import FastAPI

from hubbub.collector.app import create_app as create_collector_app
from hubbub.collector.state import Collector
from hubbub.dashboard import forms, home, login, pages, public_page, reading, sites, static_files, tokens, trends
from hubbub.dashboard.kept_answers import Answers
from hubbub.dashboard.site_cards import SiteCards


def create_app(collector: Collector) -> FastAPI:
    """Return the application of a collector with its dashboard."""
    app = create_collector_app(collector)
    app.state.answers = Answers(collector)
    app.state.site_cards = SiteCards(collector, app.state.answers)
    app.state.forecasting = asyncio.Semaphore(2)  # two, so that one need not wait for an abandoned slow one
    app.state.limits = home.Limits()
    for each in (login, home, sites, pages, trends, forms, public_page, tokens, reading, static_files):
        app.router.routes.extend(each.ROUTES)
    return app
