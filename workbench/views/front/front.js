// What all front ends share. Text of a memory only ever becomes a text node: `h` is the one way to make an element.

const SILENCE_MS = 1500;

function h(tag, attributes = {}, ...children) {
  const element = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) {
    if (name.startsWith("on")) element.addEventListener(name.slice(2), value);
    else if (value === true) element.setAttribute(name, "");
    else if (value !== false && value != null) element.setAttribute(name, value);
  }
  element.append(...children.filter((child) => child != null));
  return element;
}

const score = (value) => (value == null ? "" : Math.abs(value) < 0.1 ? value.toFixed(4) : value.toFixed(2));

// Text that a screen reader may be told of, once a change.
const put = (element, text) => { if (element.textContent !== text) element.textContent = text; };

// A list is what its elements are placed in: their `offsetTop` counts from its top.
function keepInSight(list, element) {
  const above = element.offsetTop;
  if (above < list.scrollTop) list.scrollTop = above;
  else if (above + element.offsetHeight > list.scrollTop + list.clientHeight) list.scrollTop = above + element.offsetHeight - list.clientHeight;
}

// Whether a key is meant for the browser, or for an input method: some browsers tell of those by the code 229 alone.
const isForeign = (event) => event.ctrlKey || event.metaKey || event.altKey || event.isComposing || event.keyCode === 229;

// The next button of a dialog, or the one before, round and round: Tab does not leave it.
function tabWithin(dialog, back) {
  const buttons = [...dialog.querySelectorAll("button")];
  const place = buttons.indexOf(document.activeElement);
  buttons.at(back ? Math.max(place, 0) - 1 : (place + 1) % buttons.length).focus();
}

// Numbers what is said, and shows `lost` while the kernel does not answer. `hears` is to be called when it did.
function connection(model, lost) {
  let number = Date.now();
  const hears = () => { if (model.get("heard") >= number) lost.hidden = true; };
  const say = (what, more) => {
    number = Math.max(number + 1, Date.now());
    const sent = number;
    model.send({ do: what, number, ...more });
    setTimeout(() => { lost.hidden = model.get("heard") >= sent; }, SILENCE_MS);
  };
  return { say, hears };
}

// Draws every part now and whenever it changes; what it gives ends that.
function drawn(model, parts) {
  for (const [part, draw] of Object.entries(parts)) { model.on(`change:${part}`, draw); draw(); }
  return () => { for (const [part, draw] of Object.entries(parts)) model.off(`change:${part}`, draw); };
}

