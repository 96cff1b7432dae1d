// Elements, and numbers as people read them. Every text of a server or a client comes in by textContent.

import { KIND_OF } from './reasons.js';

export const $ = (id) => document.getElementById(id);

/** An element: h('td', {class: 'n', title: '…', on: {click}}, 'text', element, …). */
export function h(tag, props = {}, ...children) {
  const element = document.createElement(tag);
  set(element, props);
  element.append(...children.flat(Infinity).filter((one) => one !== null && one !== undefined && one !== false));
  return element;
}

const SVG = 'http://www.w3.org/2000/svg';
export function s(tag, props = {}, ...children) {
  const element = document.createElementNS(SVG, tag);
  set(element, props);
  element.append(...children.filter((one) => one !== null && one !== undefined));
  return element;
}

function set(element, props) {
  for (const [key, value] of Object.entries(props)) {
    if (value === undefined || value === null || value === false) continue;
    if (key === 'on') for (const [event, heard] of Object.entries(value)) element.addEventListener(event, heard);
    else if (key === 'data') Object.assign(element.dataset, value);
    else element.setAttribute(key, value === true ? '' : value);
  }
}

/** Writes only what differs: what a reader or a screen reader has under the finger stays. */
export function text(element, value) {
  const next = String(value);
  if (element.textContent !== next) element.textContent = next;
}

export function attribute(element, name, value) {
  if (value === null) element.removeAttribute(name);
  else if (element.getAttribute(name) !== value) element.setAttribute(name, value);
}

/** 850 ms, 3.2s, 4m02s, 3h05m, 2d4h. */
export function duration(ms) {
  if (ms < 0) ms = 0;
  if (ms < 1000) return `${Math.round(ms)} ms`;
  const seconds = ms / 1000;
  if (seconds < 10) return `${(Math.floor(seconds * 10) / 10).toFixed(1)}s`;
  const two = (n) => String(Math.floor(n)).padStart(2, '0');
  if (seconds < 60) return `${Math.floor(seconds)}s`;
  if (seconds < 3600) return `${Math.floor(seconds / 60)}m${two(seconds % 60)}s`;
  if (seconds < 86400) return `${Math.floor(seconds / 3600)}h${two((seconds % 3600) / 60)}m`;
  return `${Math.floor(seconds / 86400)}d${two((seconds % 86400) / 3600)}h`;
}

/** Whole seconds, for a visible clock. */
export function clock(ms) {
  if (ms < 10_000 && ms >= 0) return `${Math.floor(ms / 1000)}s`;
  return duration(ms);
}

export function bytes(n) {
  for (const unit of ['B', 'KB', 'MB', 'GB']) {
    if (n < 1000 || unit === 'GB') return `${n < 10 && unit !== 'B' ? n.toFixed(1) : Math.round(n)} ${unit}`;
    n /= 1024;
  }
}

export const number = (n) => n.toLocaleString('en');
export const plural = (n, word) => `${number(n)} ${word}${n === 1 ? '' : 's'}`;

/** How a reason is drawn: a class of app.css. */
export const kindOf = (reason) => KIND_OF[reason] ?? 'fail';
export const KINDS = [
  ['ok', 'well'],
  ['stop', 'cancelled'],
  ['no', 'refused'],
  ['late', 'timed out'],
  ['fail', 'failed'],
];
