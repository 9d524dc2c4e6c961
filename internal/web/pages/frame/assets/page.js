'use strict';
// Keys, for whoever would rather not reach for the mouse. Without this script every page works by its links.
(() => {
  const typing = (el) => el && (el.isContentEditable || /^(INPUT|TEXTAREA|SELECT)$/.test(el.tagName));
  const one = (selector) => document.querySelector(selector);
  const go = (el) => { if (el) { el.click(); return true; } return false; };
  const steps = (selector) => [...document.querySelectorAll(selector)];
  const step = (selector, by, failing) => {
    const all = steps(selector);
    let at = all.findIndex((el) => el.contains(document.activeElement)); // who went there by Tab is there, too
    if (at < 0) at = all.findIndex((el) => el.classList.contains('at'));
    if (at < 0 && by < 0) at = all.length;
    for (at += by; at >= 0 && at < all.length; at += by) {
      if (!failing || /^(fail|error)$/.test(all[at].dataset.verdict || '')) {
        steps(selector + '.at').forEach((el) => el.classList.remove('at'));
        all[at].classList.add('at');
        (all[at].querySelector('a') || all[at]).focus({ preventScroll: true });
        all[at].scrollIntoView({ block: 'nearest' });
        return true;
      }
    }
    return false;
  };
  for (const el of steps('.canvas')) el.scrollLeft = (el.scrollWidth - el.clientWidth) / 2; // a flow begins in the middle
  const onConversation = () => one('main[data-page="conversation"]');
  const keys = {
    '/': ['search', () => { const el = one('[data-search]'); if (!el) return go(one('header a[href="/search"]')); el.focus(); el.select(); return true; }],
    'j': ['next row, or next conversation', () => onConversation() ? go(one('[data-nav="next"]')) : step('[data-row]', 1)],
    'k': ['previous row, or previous conversation', () => onConversation() ? go(one('[data-nav="prev"]')) : step('[data-row]', -1)],
    'n': ['next failing', () => onConversation() ? go(one('[data-nav="next-failing"]')) : step('[data-row]', 1, true)],
    'p': ['previous failing', () => onConversation() ? go(one('[data-nav="prev-failing"]')) : step('[data-row]', -1, true)],
    ']': ['next turn', () => step('[data-turn]', 1)],
    '[': ['previous turn', () => step('[data-turn]', -1)],
    'Enter': ['open', () => go(one('[data-row].at a'))],
    'u': ['up to the list', () => go(one('[data-up]'))],
    'f': ['failing only', () => go(one('[data-key="f"]'))],
    'r': ['raw or rendered', () => go(one('[data-key="r"]'))],
    't': ['trials side by side', () => go(one('[data-key="t"]'))],
    'c': ['compare with the baseline', () => go(one('[data-key="c"]'))],
    'o': ['override the verdict', () => { const el = one('[data-key="o"]'); if (!el) return false; el.open = true; el.querySelector('select').focus(); return true; }],
    '?': ['these keys', () => help()],
  };
  const help = () => {
    let dialog = one('dialog.help');
    if (!dialog) {
      dialog = document.createElement('dialog');
      dialog.className = 'help';
      dialog.setAttribute('aria-label', 'Keys');
      const list = document.createElement('dl');
      for (const [key, [words]] of Object.entries(keys)) {
        const dt = document.createElement('dt'), dd = document.createElement('dd'), kbd = document.createElement('kbd');
        kbd.textContent = key; dd.textContent = words;
        dt.append(kbd); list.append(dt, dd);
      }
      dialog.append(list);
      document.body.append(dialog);
    }
    dialog.open ? dialog.close() : dialog.showModal();
    return true;
  };
  document.addEventListener('keydown', (event) => {
    if (event.ctrlKey || event.altKey || event.metaKey || event.isComposing || typing(event.target)) return;
    if (event.key === 'Enter' && event.target.closest('a, button, summary')) return;
    if (one('dialog[open]') && event.key !== '?') return; // what lies behind it is out of reach
    const found = keys[event.key];
    if (found && found[1]()) event.preventDefault();
  });
})();

// Live: what a running run holds comes as events, and what a session grows by is asked for; each part of the page that may change is taken from the page
// as it is now. Rows and sessions have an attribute data-live, too, which says whether they are held, and are no such parts.
(() => {
  const events = document.body.dataset.events, grows = 'grows' in document.body.dataset;
  if (!grows && !(events && window.EventSource)) return;
  const policy = window.trustedTypes ? window.trustedTypes.createPolicy('rehearse', { createHTML: (page) => page }) : { createHTML: (page) => page };
  let waiting = false, again = false;
  // put exchanges a part; who was at a row of it, or had opened a fold of it, still is and has.
  const put = (old, now) => {
    const address = (el) => el && el.getAttribute('href');
    const focused = address(old.contains(document.activeElement) && document.activeElement), at = address(old.querySelector('.at a'));
    const turn = old.querySelector('[data-turn].at'), onTurn = turn && turn === document.activeElement;
    const open = [...old.querySelectorAll('details')].map((fold) => fold.open);
    old.replaceWith(now);
    now.querySelectorAll('details').forEach((fold, i) => { fold.open = open[i] || fold.open; });
    for (const link of now.querySelectorAll('a')) {
      const row = link.closest('[data-row]');
      if (at && row && address(link) === at) row.classList.add('at');
      if (focused && address(link) === focused) link.focus({ preventScroll: true });
    }
    const still = turn && document.getElementById(turn.id);
    if (still) { still.classList.add('at'); if (onTurn) still.focus({ preventScroll: true }); }
  };
  const refresh = async () => {
    if (waiting) { again = true; return; }
    waiting = true;
    try {
      const answer = await fetch(location.href, { headers: { Accept: 'text/html' } });
      if (answer.ok) {
        const page = new DOMParser().parseFromString(policy.createHTML(await answer.text()), 'text/html');
        document.querySelectorAll('[data-live]:not(main, [data-row])').forEach((old) => {
          const now = page.querySelector(`[data-live="${old.dataset.live}"]:not(main, [data-row])`);
          if (now && !now.isEqualNode(old)) put(old, document.adoptNode(now));
        });
        const main = document.querySelector('main'), next = page.querySelector('main');
        for (const name of ['data-state', 'data-verdict', 'data-outcome', 'data-turns', 'data-live']) if (next && next.hasAttribute(name)) main.setAttribute(name, next.getAttribute(name));
      } else if (answer.status === 404) {
        location.reload(); // it is gone, and what was on the page with it
      }
    } finally {
      setTimeout(() => { waiting = false; if (again) { again = false; refresh(); } }, 1000);
    }
  };
  if (grows) {
    const asked = setInterval(() => {
      if (document.querySelector('main').dataset.live !== 'true') clearInterval(asked);
      else if (!document.hidden) refresh().catch(() => {}); // a server that is away may come back
    }, 3000);
    return;
  }
  let source = null;
  const listen = () => {
    source = new EventSource(events);
    source.addEventListener('result', refresh);
    source.addEventListener('end', () => { source.close(); source = null; again = true; refresh(); });
  };
  const state = () => document.querySelector('main').dataset.state;
  if (state() !== 'interrupted') listen();
  // Whoever stays on the page of a run that was interrupted sees it go on.
  setInterval(() => {
    if (document.hidden || source) return;
    if (state() === 'interrupted') refresh().catch(() => {});
    else if (state() !== 'finished') listen();
  }, 3000);
  addEventListener('pagehide', () => { if (source) source.close(); });
})();
