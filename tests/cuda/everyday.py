# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""tests/cuda/everyday.py NAME: ordinary PyTorch programs, as people write them, to be recorded and their reports read.

They run on a GPU if there is one. Without a name, lists them.
"""
import queue
import sys
import threading
import time

import torch
from torch import nn
from torch.nn import functional as F

device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
small = device.type == "cpu"


def language_model():
    """An LSTM that predicts characters; prints its loss now and then."""
    text = torch.randint(0, 96, (4 if small else 64, 4000))
    net = nn.ModuleDict({"embed": nn.Embedding(96, 128), "lstm": nn.LSTM(128, 256, 2, batch_first=True),
                         "out": nn.Linear(256, 96)}).to(device)
    opt = torch.optim.AdamW(net.parameters(), lr=1e-3)
    for step in range(20 if small else 80):
        at = (step * 65) % 3900
        x, y = text[:, at:at + 64].to(device), text[:, at + 1:at + 65].to(device)
        h, _ = net["lstm"](net["embed"](x))
        loss = F.cross_entropy(net["out"](h).transpose(1, 2), y)
        opt.zero_grad()
        loss.backward()
        nn.utils.clip_grad_norm_(net.parameters(), 1.0)
        opt.step()
        if step % 20 == 0:
            print(step, loss.item())


def gan():
    """A generator and a discriminator, each with its own Adam."""
    g = nn.Sequential(nn.Linear(64, 256), nn.LeakyReLU(0.2), nn.Linear(256, 512), nn.LeakyReLU(0.2), nn.Linear(512, 784), nn.Tanh()).to(device)
    d = nn.Sequential(nn.Linear(784, 512), nn.LeakyReLU(0.2), nn.Linear(512, 256), nn.LeakyReLU(0.2), nn.Linear(256, 1)).to(device)
    opt_g, opt_d = (torch.optim.Adam(m.parameters(), lr=2e-4, betas=(0.5, 0.999)) for m in (g, d))
    bce = nn.BCEWithLogitsLoss()
    data = torch.rand(6000, 784)
    for step in range(20 if small else 60):
        real = data[torch.randint(0, 6000, (128,))].to(device)
        fake = g(torch.randn(128, 64, device=device))
        loss_d = bce(d(real), torch.ones(128, 1, device=device)) + bce(d(fake.detach()), torch.zeros(128, 1, device=device))
        opt_d.zero_grad()
        loss_d.backward()
        opt_d.step()
        loss_g = bce(d(fake), torch.ones(128, 1, device=device))
        opt_g.zero_grad()
        loss_g.backward()
        opt_g.step()


def resnet():
    """Residual blocks with automatic mixed precision and gradient scaling."""
    class Block(nn.Module):
        def __init__(self, n):
            super().__init__()
            self.net = nn.Sequential(nn.Conv2d(n, n, 3, padding=1), nn.BatchNorm2d(n), nn.ReLU(), nn.Conv2d(n, n, 3, padding=1), nn.BatchNorm2d(n))

        def forward(self, x):
            return F.relu(x + self.net(x))

    n = 8 if small else 64
    net = nn.Sequential(nn.Conv2d(3, n, 7, 2, 3), nn.BatchNorm2d(n), nn.ReLU(), *[Block(n) for _ in range(6)],
                        nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(n, 100)).to(device)
    opt = torch.optim.SGD(net.parameters(), lr=0.1, momentum=0.9, weight_decay=1e-4)
    scaler = torch.cuda.amp.GradScaler(enabled=not small)
    x = torch.rand(4 if small else 64, 3, 64 if small else 224, 64 if small else 224, device=device)
    y = torch.randint(0, 100, (len(x),), device=device)
    for _ in range(12 if small else 40):
        with torch.autocast(device.type, enabled=not small):
            loss = F.cross_entropy(net(x), y)
        opt.zero_grad()
        scaler.scale(loss).backward()
        scaler.step(opt)
        scaler.update()


def server():
    """A server: a thread answers requests that come now and then."""
    net = nn.Sequential(*[m for _ in range(6) for m in (nn.Linear(512, 512), nn.GELU())]).to(device).eval()
    requests = queue.Queue()

    def client():
        for i in range(60):
            time.sleep(0.02 if i % 5 else 0.06)
            requests.put(torch.rand(1 + i % 4, 512))
        requests.put(None)

    threading.Thread(target=client).start()
    with torch.inference_mode():
        while True:
            x = requests.get()
            if x is None:
                break
            net(x.to(device)).softmax(-1).cpu().argmax(-1).tolist()


class Images(torch.utils.data.Dataset):
    def __len__(self):
        return 1 << 14

    def __getitem__(self, index):
        image = torch.rand(3, 96, 96, generator=torch.Generator().manual_seed(index))
        image = F.interpolate(image[None], size=(64, 64), mode="bilinear", antialias=True)[0]
        return (image - 0.5) / 0.25, index % 10


def images():
    """A classifier whose loader has two workers that cannot keep up."""
    loader = torch.utils.data.DataLoader(Images(), batch_size=64, num_workers=0 if small else 2, shuffle=True)
    net = nn.Sequential(nn.Conv2d(3, 32, 3, 2), nn.ReLU(), nn.Conv2d(32, 64, 3, 2), nn.ReLU(), nn.Flatten(), nn.LazyLinear(10)).to(device)
    net(torch.rand(1, 3, 64, 64, device=device))
    opt = torch.optim.Adam(net.parameters())
    running = 0.0
    for step, (x, y) in enumerate(loader):
        loss = F.cross_entropy(net(x.to(device)), y.to(device))
        opt.zero_grad()
        loss.backward()
        opt.step()
        running += loss.item()
        if step == (10 if small else 40):
            break


def generate():
    """A transformer writes text one token at a time, without a cache."""
    layer = nn.TransformerEncoderLayer(256, 8, 1024, batch_first=True, norm_first=True)
    net = nn.ModuleDict({"embed": nn.Embedding(1000, 256), "body": nn.TransformerEncoder(layer, 4), "head": nn.Linear(256, 1000)}).to(device).eval()
    tokens = torch.randint(0, 1000, (1, 8), device=device)
    with torch.no_grad():
        for _ in range(30 if small else 100):
            mask = nn.Transformer.generate_square_subsequent_mask(tokens.shape[1]).to(device)
            logits = net["head"](net["body"](net["embed"](tokens), mask=mask))[:, -1]
            token = torch.multinomial(F.softmax(logits / 0.8, -1), 1)
            if token.item() == 1000:
                break
            tokens = torch.cat([tokens, token], 1)


def accumulate():
    """Gradients of four small batches before each step; a checkpoint every ten steps; losses kept by mistake."""
    n = 128 if small else 1024
    net = nn.Sequential(*[m for _ in range(4) for m in (nn.Linear(n, n), nn.LayerNorm(n), nn.ReLU())]).to(device)
    opt = torch.optim.AdamW(net.parameters())
    kept = []
    for step in range(20 if small else 60):
        for _ in range(4):
            x = torch.randn(64, n).to(device)
            loss = (net(x) - x).pow(2).mean() / 4
            loss.backward()
            kept.append(loss)
        opt.step()
        opt.zero_grad()
        if step % 10 == 9:
            torch.save({"net": net.state_dict(), "opt": opt.state_dict()}, "/tmp/everyday.pt")


def crash():
    """An index out of range in the middle of training."""
    table = nn.Embedding(100, 64).to(device)
    opt = torch.optim.SGD(table.parameters(), lr=0.1)
    for step in range(40):
        index = torch.randint(0, 100 if step < 30 else 400, (256,), device=device)
        loss = table(index).sum()
        opt.zero_grad()
        loss.backward()
        opt.step()
        if step % 10 == 9:
            print(loss.item())


PROGRAMS = {one.__name__: one for one in (language_model, gan, resnet, server, images, generate, accumulate, crash)}

if __name__ == "__main__":
    torch.manual_seed(0)
    if len(sys.argv) < 2:
        print("\n".join(PROGRAMS))
    else:
        PROGRAMS[sys.argv[1]]()
